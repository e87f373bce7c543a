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
from leakrange.store.files import get_arrays, whole
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import ARTIFACT, UPLOADS
from leakrange.wire.errors import LeakrangeError, NotFound
from services.controller.range.parties import Parties
from services.controller.range.together import together
from services.controller.victim.attackers import Attacker, attacker_on
from services.controller.victim.demonstration import Demonstration

__all__ = ["Standing", "budget_of"]

log = structlog.get_logger("services.controller.victim")
Cell = tuple[str, str]
"""A model's id and a defence."""


def budget_of(day: str) -> str:
    """The name of the limit that holds for all visitors of a day."""
    return f"visitors-{day}"


@dataclass(eq=False)
class Standing:
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
        """Start to make it stand for that day, where it does not."""
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
        try:
            if time.monotonic() >= self._until:
                await self._deploy()
            if self._day != day or time.monotonic() >= self._until:
                await self._open(day)
            await self._fit()
        except LeakrangeError as error:
            self.waiting = error.detail
            raise
        self._day, self._until, self.waiting = day, time.monotonic() + self.keep, ""

    async def _deploy(self) -> None:
        parties, run = self.parties, self.shown.run
        for number, model in enumerate(self.shown.models):
            self.waiting = f"deploying models: {number} of {len(self.shown.models)}"
            name = model.served_as(parties.names)
            await parties.keeper.hold(run, name, model.plays)
            deployment = model.deployment.model_copy(update={"for_runs": True})
            await parties.providers.put(model.plays, name, deployment)
            await parties.proxy.put_route(name, parties.providers.url(model.plays))

    async def _open(self, day: str) -> None:
        self.waiting = "opening the visitors' accounts"
        proxy, models = self.parties.proxy, [m.served_as(self.parties.names) for m in self.shown.models]
        await proxy.put_limit(budget_of(day), "global", samples=self.limit)
        for policy in self.shown.defences:
            await proxy.put_policy(policy.name, policy.chain)
            self.keys[policy.defence] = await proxy.put_key(
                self.account(day, policy.defence),
                budget=self.limit,
                policy=policy.name,
                models=models,
                endpoints=[ARTIFACT, UPLOADS],
                limits=[budget_of(day)],
            )

    async def _fit(self) -> None:
        """Have the attackers fitted that are not, each once for all times."""
        for policy in self.shown.defences:
            for model in self.shown.models:
                found = attacker_on(self.shown, model, policy, self.results)
                if found is not None:
                    self.attackers[model.id, policy.defence] = found
        wanted = [cell for cell, found in self.attackers.items() if found.job and cell not in self.learnt]
        done = 0

        async def fit(cell: Cell) -> None:
            nonlocal done
            self.waiting = f"fitting attackers: {done} of {len(wanted)}"
            try:
                await self._fitted(cell)
            except LeakrangeError as error:  # of an older version, say: the others can be shown
                log.warning("an attacker cannot be fitted", cell=cell, reason=error.detail)
                del self.attackers[cell]
            done += 1

        await together(map(fit, wanted))

    async def _fitted(self, cell: Cell) -> None:
        job = self.attackers[cell].job
        assert job is not None
        file = f"{job.identity()}.npz"
        if not await asyncio.to_thread(whole, self.parties.releases, file):
            await self.parties.fleet.run(job)
        arrays = await asyncio.to_thread(get_arrays, self.parties.releases, file)
        learnt = {name.removeprefix(LEARNT): each for name, each in arrays.items() if name.startswith(LEARNT)}
        if not learnt:
            raise NotFound(f"the attack {job.attack!r} kept nothing of what it learnt")
        self.learnt[cell] = learnt


def _seen(task: asyncio.Task[None]) -> None:
    """Read a task's error, so that asyncio does not warn about it when no visitor waits."""
    if not task.cancelled():
        task.exception()
