"""The models that providers serve for runs: kept while a run needs them, withdrawn some time after the
last one ended."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from contextlib import suppress
from datetime import datetime, timedelta

import structlog
from sqlalchemy.exc import SQLAlchemyError

from leakrange.service.parties import REMOTE
from leakrange.services.controller.range.calls import Providers
from leakrange.store.engine import Database
from leakrange.store.served import ServedModelStore, Unused
from leakrange.store.tables import now
from leakrange.wire.errors import Conflict, LeakrangeError, NotFound
from leakrange.wire.operator import Proxy

log = structlog.get_logger("leakrange.services.controller.served_models")
RETRY = 60.0
"""Seconds until a withdrawal that a party did not answer is tried again."""


class ModelKeeper:
    """Which run needs which model is stored in SQL, so that a new controller withdraws the models of an
    old one."""

    def __init__(self, database: Database, providers: Providers, proxy: Proxy, *, after: float) -> None:
        self._database, self._providers, self._proxy = database, providers, proxy
        self._after = timedelta(seconds=after)
        self._changing: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._wanted: dict[str, datetime] = {}
        self._ended = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start withdrawing models that no run has needed for long enough."""
        self._loop = asyncio.create_task(self._look_after())

    async def stop(self) -> None:
        """Leave everything as it is."""
        if self._loop is not None:
            self._loop.cancel()
            await asyncio.gather(self._loop, return_exceptions=True)

    def run_ended(self) -> None:
        """Check at once whether its models can be withdrawn."""
        self._ended.set()

    async def want(self, run: str, model: str, plays: str) -> None:
        """Keep ``model`` until the run has ended. Call it before the model is deployed at the provider
        that ``plays`` this behaviour."""
        async with self._changing[model], self._database.write() as session:
            await ServedModelStore(session).add(run, model, plays)

    async def hold(self, run: str, model: str, plays: str) -> None:
        """Keep ``model`` from now for as long as after the end of a run, although the run has ended, because
        visitors try it. Call it before the model is deployed."""
        self._wanted[model] = now()
        await self.want(run, model, plays)
        self._ended.set()

    async def withdraw_unused(self) -> float | None:
        """Withdraw models that no run has needed for long enough. Returns the seconds until the next check
        (None: not before another run has ended)."""
        async with self._database.read() as session:
            unused = await ServedModelStore(session).unused()
        again: list[float] = []
        for each in unused:
            wait = self._left(each)
            if wait <= 0:
                try:
                    await self._withdraw(each.model)
                    continue
                except LeakrangeError as error:
                    log.warning("a model could not be withdrawn", model=each.model, reason=error.detail)
                    wait = RETRY
            again.append(wait)
        return min(again, default=None)

    async def _withdraw(self, model: str) -> None:
        # A run that begins to need it meanwhile waits, and then has it deployed again.
        async with self._changing[model]:
            async with self._database.read() as session:
                candidates = await ServedModelStore(session).unused(model)
            still = [each for each in candidates if self._left(each) <= 0]
            for unused in still:
                await self._take_down(unused)
            if still:
                self._wanted.pop(model, None)
                async with self._database.write() as session:
                    await ServedModelStore(session).remove(model)

    def _left(self, unused: Unused) -> float:
        """Seconds for which the model is still served."""
        since = max(unused.since, self._wanted.get(unused.model, unused.since))
        return (since + self._after - now()).total_seconds()

    async def _take_down(self, unused: Unused) -> None:
        remote = unused.plays == REMOTE
        try:
            if not remote:
                await self._providers.withdraw(unused.plays, unused.model)
        except Conflict:
            log.info("the operator's own now, and left alone", model=unused.model)
            return
        with suppress(NotFound):
            route = await self._proxy.route(unused.model)
            if remote or route.upstream == self._providers.url(unused.plays):
                await self._proxy.delete_route(unused.model)
        log.info("withdrawn", model=unused.model)

    async def _look_after(self) -> None:
        while True:
            self._ended.clear()
            try:
                wait = await self.withdraw_unused()
            except (SQLAlchemyError, LeakrangeError) as error:
                log.warning("cannot look for models to withdraw", error=str(error))
                wait = RETRY
            try:
                async with asyncio.timeout(wait):
                    await self._ended.wait()
            except TimeoutError:
                continue
