"""One task per active run: begun, gone on with after a restart, cancelled."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass

import structlog

from leakrange.scenario.plan import Plan
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.files import FolderStore
from leakrange.store.jobs import Jobs
from leakrange.store.runs import Runs
from leakrange.store.trials import Trials
from services.controller.range.driver import Driver
from services.controller.range.fleet import Fleet
from services.controller.range.journal import Journal
from services.controller.range.news import News
from services.controller.range.parties import Edge, Providers, Proxy
from services.controller.settings import ControllerSettings

__all__ = ["Parties", "Supervisor"]

log = structlog.get_logger("services.controller.supervisor")


@dataclass(frozen=True)
class Parties:
    """Everybody that a run talks to, and the stores where models and releases lie."""

    fleet: Fleet
    providers: Providers
    proxy: Proxy
    edge: Edge
    models: FolderStore
    releases: FolderStore
    proxy_for_clients: str


class Supervisor:
    """Runs in progress. A run's plan is in SQL before it begins, so a new controller goes on where the old
    one stopped.
    """

    def __init__(
        self, settings: ControllerSettings, database: Database, news: News, parties: Parties
    ) -> None:
        self._settings, self._database, self._news, self._parties = settings, database, news, parties
        self._active: dict[str, tuple[asyncio.Task[None], Driver]] = {}
        self._starting: set[asyncio.Task[None]] = set()

    def begin(self, run: str) -> None:
        """Start driving a run that is stored; returns at once."""
        task = asyncio.create_task(self._drive(run), name=f"run {run}")
        self._starting.add(task)
        task.add_done_callback(self._starting.discard)

    async def resume(self) -> None:
        """Go on with every run that is not finished."""
        async with self._database.read() as session:
            unfinished = [run.id for run in await Runs(session).unfinished()]
        for run in unfinished:
            log.info("going on with a run", run=run)
            self.begin(run)

    async def cancel(self, run: str) -> None:
        """Stop a run and free its workers; does nothing to a finished run."""
        async with self._database.write() as session:
            if not await Runs(session).move(run, "cancelled"):
                return
            await Jobs(session).cancel(run)
            await Trials(session).cancel(run)
            await Events(session).append(run, "run.finished", {"state": "cancelled", "message": "cancelled"})
        self._news.announce(run)
        active = self._active.get(run)
        if active is not None:
            task, driver = active
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            await self._parties.fleet.cancel(driver.in_fleet)

    async def stop(self) -> None:
        """Leave all runs as they are: the next controller goes on with them."""
        tasks = list(self._starting)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    async def _drive(self, run: str) -> None:
        async with self._database.read() as session:
            plan = Plan.model_validate(await Runs(session).plan(run))
        journal = Journal(run, self._database, self._news)
        driver = Driver(run, plan, self._parties, journal, self._settings)
        task = asyncio.current_task()
        assert task is not None
        self._active[run] = (task, driver)
        try:
            await journal.begin(plan)
            await driver.execute()
            await journal.finish()
        except asyncio.CancelledError:
            raise
        except Exception as error:
            # Whatever it is, the run must not hang as "running": it fails with the reason, and the log has
            # the traceback.
            log.error("a run failed", run=run, exc_info=error)
            await journal.fail(f"{type(error).__name__}: {error}")
        finally:
            del self._active[run]

    def active(self) -> list[str]:
        """Runs that are being driven now."""
        return sorted(self._active)
