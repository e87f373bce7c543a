"""One task per active run: started, resumed after a restart, cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

import structlog
from structlog.contextvars import bind_contextvars

from leakrange import tracing
from leakrange.services.controller.engine.graph import RunGraph
from leakrange.services.controller.range.accounts import RunAccounts
from leakrange.services.controller.range.journal import Journal
from leakrange.services.controller.range.news import News
from leakrange.services.controller.range.offers import Offers
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.record import stored_plan
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.engine import Database, DatabaseAway
from leakrange.store.events import Events
from leakrange.store.jobs import Jobs
from leakrange.store.runs import FINAL, RunStore
from leakrange.store.trials import Trials
from leakrange.wire.errors import LeakrangeError, StorageFull
from leakrange.wire.events import RunFinished

log = structlog.get_logger("leakrange.services.controller.supervisor")
RECORD_EVERY = 2.0
"""Seconds between tries to write down the end of a run while the disk is full or the database away."""
AGAIN_AFTER = 1.0
"""Seconds until a run is begun again after the database server went away."""
CLOSE_WITHIN = 5.0
"""The longest wait for the proxy's accounts, in seconds, before a run that is cancelled or has failed
ends."""


@dataclass(eq=False)
class _Driven:
    task: asyncio.Task[None] | None = None
    graph: RunGraph | None = None


class Supervisor:
    """Runs in progress. A run's plan is stored in SQL first, so a new controller continues where the old
    one stopped."""

    def __init__(
        self, settings: ControllerSettings, database: Database, news: News, parties: Parties
    ) -> None:
        self._settings, self._database, self._news, self._parties = settings, database, news, parties
        self._driven: dict[str, _Driven] = {}
        self.unrecorded: dict[str, str] = {}
        """The failed runs, with the reason, whose end cannot be written down, e.g. because the disk is
        full."""

    def begin(self, run: str) -> None:
        """Start driving a run that is stored; returns at once."""
        driven = self._driven[run] = _Driven()
        driven.task = asyncio.create_task(self._drive(run, driven), name=f"run {run}")
        driven.task.add_done_callback(lambda task: self._ended(run, task))

    def offers(self, run: str) -> Offers | None:
        """What a run offers load users; None for a run that is over, or has not begun."""
        driven = self._driven.get(run)
        return driven.graph.offers if driven is not None and driven.graph is not None else None

    async def resume(self) -> None:
        """Continue every unfinished run."""
        async with self._database.read() as session:
            unfinished = [run.id for run in await RunStore(session).unfinished()]
        for run in unfinished:
            log.info("going on with a run", run=run)
            self.begin(run)

    async def cancel(self, run: str) -> None:
        """Stop a run and free its workers; a finished run does not change. Raises `NotFound`."""
        async with self._database.read() as session:
            if (await RunStore(session).get(run)).state in FINAL:
                return
        driven = self._driven.get(run)
        if driven is not None and driven.task is not None:
            # First, since nothing may be written to a run's record after its end.
            driven.task.cancel()
            await asyncio.wait([driven.task])
        await self._wind_up(run, driven.graph if driven is not None else None)
        async with self._database.write() as session:
            if not await RunStore(session).move(run, "cancelled"):
                return
            await Jobs(session).cancel(run)
            await Trials(session).cancel(run)
            finished = RunFinished(state="cancelled", message="cancelled")
            await Events(session).append(run, "run.finished", finished.told())
        self._news.announce(run)
        self._parties.keeper.run_ended()

    async def stop(self) -> None:
        """Leave all runs as they are: the next controller continues them."""
        tasks = [driven.task for driven in self._driven.values() if driven.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _drive(self, run: str, driven: _Driven) -> None:
        bind_contextvars(run=run)  # in this task, and in those that it begins
        journal = Journal(run, self._database, self._news)
        try:
            with tracing.root("run", run=run):
                await self._carry_out(run, driven, journal)
        except Exception as error:
            # Whatever it is, the run must not hang as "running": it fails with the reason, and the log has
            # the traceback.
            log.error("a run failed", exc_info=error)
            await self._wind_up(run, driven.graph)
            await self._fail(run, journal, _reason(error))

    async def _carry_out(self, run: str, driven: _Driven, journal: Journal) -> None:
        """Drive the run to its end. If the database server goes away, the run is begun again with what is
        recorded, as after a restart of the controller."""
        while True:
            try:
                async with self._database.read() as session:
                    under_load = await RunStore(session).under_load(run)
                    plan = await stored_plan(session, run, trials=under_load)
                plan.check_form()
                if await journal.begin(plan):  # else it was cancelled before it began
                    driven.graph = RunGraph(plan, self._parties, journal, self._settings)
                    await driven.graph.execute()
                    await journal.finish()
                return
            except Exception as error:
                if not any(isinstance(each, DatabaseAway) for each in _all_of(error)):
                    raise
                log.warning("the database is away: the run goes on when it is back", exc_info=error)
            await asyncio.sleep(AGAIN_AFTER)

    async def _fail(self, run: str, journal: Journal, reason: str) -> None:
        """Record that a run has failed. The API reports that even while it cannot be written down."""
        while True:
            try:
                await journal.fail(reason)
            except (StorageFull, DatabaseAway) as error:
                log.error("the end of a run cannot be recorded yet", run=run, reason=error.detail)
                self.unrecorded[run] = reason
                self._news.announce(run)
                await asyncio.sleep(RECORD_EVERY)
            else:
                self.unrecorded.pop(run, None)
                return

    async def _wind_up(self, run: str, graph: RunGraph | None) -> None:
        """Before a run ends early: drop its jobs, and complete its ledger as far as possible in a short
        time."""
        if graph is not None:
            await self._parties.fleet.cancel(graph.under_way)
        try:
            journal = Journal(run, self._database, self._news)
            await RunAccounts(self._parties.proxy, journal).close(within=CLOSE_WITHIN)
        except Exception as error:
            log.error("the ledger of a run could not be closed", run=run, exc_info=error)

    def _ended(self, run: str, task: asyncio.Task[None]) -> None:
        del self._driven[run]
        self._parties.keeper.run_ended()
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a run's end could not be recorded: a restart goes on with it", run=run, exc_info=error)


def _all_of(error: BaseException) -> Iterator[BaseException]:
    """The single errors in an error or a group of errors."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from _all_of(each)
    else:
        yield error


def _reason(error: BaseException) -> str:
    error = next(_all_of(error))
    return error.detail if isinstance(error, LeakrangeError) else f"{type(error).__name__}: {error}"
