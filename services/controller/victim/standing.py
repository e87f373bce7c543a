"""What stands before a visitor can try something: models, policies, keys, and attacks that are fitted."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from numpy.typing import NDArray

from leakrange.attacks.kinds.attribute import LEARNT
from leakrange.scenario.results import TrialResult
from leakrange.services.controller.engine.engine import Engine
from leakrange.services.controller.engine.how.device import DEVICE
from leakrange.services.controller.engine.how.fleet import deployed, fitted
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.record import StepRecord
from leakrange.services.controller.range.together import together
from leakrange.services.controller.victim.attackers import Attacker, attacker_on
from leakrange.services.controller.victim.demonstration import Demonstration
from leakrange.wire.digests import digest
from leakrange.wire.errors import LeakrangeError, NotFound
from leakrange.wire.events import Purpose

__all__ = ["StandingDemonstration", "budget_of"]

log = structlog.get_logger("leakrange.services.controller.victim")
Cell = tuple[str, str]
"""A model's id and a defence."""


def budget_of(day: str) -> str:
    """The name of the limit that holds for all visitors of a day."""
    return f"visitors-{day}"


@dataclass(eq=False)
class StandingDemonstration:
    """One demonstration and how far it stands. `ready` may be awaited by many; what fails is tried again by
    the next who asks."""

    shown: Demonstration
    results: Mapping[str, TrialResult]
    parties: Parties
    limit: int
    keep: float
    """Seconds after which models are deployed again, in case they were withdrawn."""
    attackers: dict[Cell, Attacker] = field(default_factory=dict)
    learnt: dict[Cell, Mapping[str, NDArray[Any]]] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    """By defence, the API key of today's visitors."""
    waiting: str = "deploying models"
    _day: str = ""
    _until: float = 0.0
    _task: asyncio.Task[None] | None = None

    @property
    def stands(self) -> bool:
        """Whether a visitor's sample could be released at once, as far as is known here."""
        return time.monotonic() < self._until and not self.waiting

    def begin(self, day: str) -> asyncio.Task[None]:
        """Start to make it stand for that day, if it does not."""
        if self._task is None or self._task.done():
            self.waiting = "looking after the models"
            self._task = asyncio.create_task(self._stand(day))
            self._task.add_done_callback(_seen)
        return self._task

    async def ready(self, day: str) -> None:
        """Wait until it stands. Raises what the parties raise."""
        if self.stands and self._day == day:
            return
        await asyncio.shield(self.begin(day))

    def forget(self) -> None:
        """Make it all stand again for the next visitor: a party has lost something."""
        self._until = 0.0

    async def stop(self) -> None:
        """Leave everything as it is."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def account(self, day: str, defence: str) -> str:
        """The name of the visitors' key under a defence."""
        return f"visitors-{day}.{self.shown.run}.{digest([self.shown.data, defence])[:12]}"

    async def _stand(self, day: str) -> None:
        engine = Engine(self.parties, StepRecord(self.shown.run))
        engine.keep = self.parties.keeper.hold
        try:
            if time.monotonic() >= self._until:
                await self._deploy(engine)
            if self._day != day or time.monotonic() >= self._until:
                await self._open(engine, day)
            await self._fit(engine)
        except LeakrangeError as error:
            self.waiting = error.detail
            raise
        self._day, self._until, self.waiting = day, time.monotonic() + self.keep, ""

    async def _deploy(self, engine: Engine) -> None:
        for number, model in enumerate(self.shown.models):
            self.waiting = f"deploying models: {number} of {len(self.shown.models)}"
            await deployed(engine, model)

    async def _open(self, engine: Engine, day: str) -> None:
        self.waiting = "opening the visitors' accounts"
        proxy = self.parties.proxy
        await proxy.put_limit(budget_of(day), "global", samples=self.limit)
        for policy in self.shown.defences:
            await proxy.put_policy(policy.name, policy.chain.spec())
            self.keys[policy.defence] = await engine.accounts.key(
                self.account(day, policy.defence),
                holder="users",
                purpose=Purpose(defence=policy.defence),
                policy=policy.name,
                budget=self.limit,
                models=[engine.name(model) for model in self.shown.models],
                endpoints=DEVICE,
                limits=[budget_of(day)],
            )

    async def _fit(self, engine: Engine) -> None:
        """Have the attackers fitted that are not fitted yet, each only once."""
        for policy in self.shown.defences:
            for model in self.shown.models:
                attacker = attacker_on(self.shown, model, policy, self.results)
                if attacker is not None:
                    self.attackers[model.id, policy.defence] = attacker
        wanted = [
            cell for cell, attacker in self.attackers.items() if attacker.job and cell not in self.learnt
        ]
        done = 0

        async def fit(cell: Cell) -> None:
            nonlocal done
            self.waiting = f"fitting attackers: {done} of {len(wanted)}"
            try:
                await self._fitted(engine, cell)
            except LeakrangeError as error:  # for instance one of an older version: the others can be shown
                log.warning("an attacker cannot be fitted", cell=cell, reason=error.detail)
                del self.attackers[cell]
            done += 1

        await together(map(fit, wanted))

    async def _fitted(self, engine: Engine, cell: Cell) -> None:
        job = self.attackers[cell].job
        assert job is not None
        [fit] = await fitted(engine, [job], [job.attack], Purpose(model=cell[0], defence=cell[1]))
        arrays = fit.arrays
        learnt = {name.removeprefix(LEARNT): each for name, each in arrays.items() if name.startswith(LEARNT)}
        if not learnt:
            raise NotFound(f"the attack {job.attack!r} kept nothing of what it learnt")
        self.learnt[cell] = learnt


def _seen(task: asyncio.Task[None]) -> None:
    """Read a task's error, so that asyncio does not warn about it when no visitor waits."""
    if not task.cancelled():
        task.exception()
