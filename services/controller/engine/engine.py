"""The one way in which a step of a run is taken: expected, looked up, gated, begun, done, and recorded."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import structlog

from leakrange import tracing
from leakrange.jobs.step import Gate, Step
from leakrange.jobs.steps.probe import PROBE
from leakrange.jobs.steps.replay import REPLAY
from leakrange.jobs.steps.stream import STREAM
from leakrange.jobs.steps.train import TRAIN, TrainJob
from leakrange.registry import Registry
from leakrange.scenario.plan import PlannedModel, PlannedObfuscator, PlannedPolicy
from leakrange.scenario.stored_trial import StoredTrial
from leakrange.services.controller.range.accounts import RunAccounts
from leakrange.services.controller.range.offers import LimitReached
from leakrange.services.controller.range.parties import Parties
from leakrange.services.controller.range.record import StepRecord
from leakrange.services.controller.range.together import Once, being_cancelled
from leakrange.store.engine import DatabaseAway
from leakrange.wire.errors import LeakrangeError
from leakrange.wire.events import Purpose

__all__ = ["Begin", "Ended", "Engine", "Work", "hows", "purpose_of"]

log = structlog.get_logger("leakrange.services.controller.engine")
LASTING = (TRAIN.name, PROBE.name, STREAM.name, REPLAY.name)
"""Steps whose number has a bound of its own, and that are asked about again."""
REMEMBERED = 10_000
"""The number of other steps that are remembered."""
T = TypeVar("T")
Begin = Callable[[], Awaitable[None]]
"""Called by the function that does a step when the step begins: a step that is sent twice, or shared with
another run, begins once."""
Take = Callable[["Engine", StoredTrial, PlannedPolicy, Mapping[str, Any]], Awaitable[Any]]
"""Takes a step that a trial asks for by name (`Needs.steps`): with the trial, the policy of its defence, and
the parameters that its needs give. Returns what the kind of attack reads."""


@dataclass(frozen=True)
class Ended:
    """The record of a step that is done: its ``result``, the ``message`` for people, and ``more`` arguments
    of `Record.job_done`."""

    message: str
    result: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Work(Generic[T]):
    """One step, ready to be taken.

    - ``stored`` tells whether the result is there, and whole; ``read`` reads it.
    - ``do`` makes it, stores it, and returns what ``ended`` needs.
    - ``ended`` returns the record of the end. Its arguments are whether the result was stored already, and
      what ``do`` returned (None if it was stored).
    - ``failing`` begins the message of a failure: "fitting T".
    - ``gate`` replaces the gate of the step.
    """

    step: Step
    identity: str
    purpose: Purpose
    failing: str
    stored: Callable[[], bool]
    do: Callable[[Begin], Awaitable[Any]]
    ended: Callable[[bool, Any], Ended]
    read: Callable[[], T]
    gate: Gate | None = None


hows = Registry[Take]("step that a trial can ask for", "leakrange.services.controller.engine.how")


class Engine:
    """Takes the steps of one run. Each identity is worked on once; a caller that needs it again waits for the
    same work.

    ``done`` are the identities of the steps that the run has recorded as done, ``sent`` those that it has
    ever begun; both include steps from before a restart of the controller. Of steps that a trial has for
    itself only the last are remembered: the record knows the others. At most that many ``sessions``,
    ``probes`` and ``fits`` are under way at the same time.
    """

    def __init__(
        self, parties: Parties, record: StepRecord, *, sessions: int = 4, probes: int = 8, fits: int = 8
    ) -> None:
        self.parties, self.record, self.run = parties, record, record.run
        self.keep = parties.keeper.want
        """Keeps a model from being withdrawn."""
        self.accounts = RunAccounts(parties.proxy, record)
        self.once = Once()
        self.done: set[str] = set()
        self.sent: set[str] = set()
        self.stacks: dict[str, TrainJob] = {}
        """Jobs that may train several models at the same time, by the identities of the models."""
        self.under_way: set[str] = set()
        """Identities of the steps that wait or run, to be dropped when the run is cancelled."""
        self._expected: set[str] = set()
        self._stored: dict[str, bool] = {}
        self._passing: deque[str] = deque()
        self.probes = probes
        self._gates = {
            "sessions": asyncio.Semaphore(sessions),
            "probes": asyncio.Semaphore(probes),
            "fits": asyncio.Semaphore(fits),
        }

    async def expect(self, works: Sequence[Work[Any]], *, look: bool = True) -> None:
        """Record, at once for each kind, that these steps are going to be taken; and ``look`` which of them
        are stored, so that they are then begun in this order."""
        if look:
            stored = await asyncio.to_thread(lambda: [work.stored() for work in works])
            self._stored |= dict(zip((work.identity for work in works), stored, strict=True))
        by_kind: dict[str, dict[str, Purpose]] = {}
        for work in works:
            if work.identity not in self._expected:
                by_kind.setdefault(work.step.name, {})[work.identity] = work.purpose
        for kind, purposes in by_kind.items():
            await self.record.expect(kind, purposes)
            self._expected |= purposes.keys()

    def begin(self, work: Work[T]) -> asyncio.Task[T]:
        """Begin a step whose result is needed later."""
        # A caller that needs it once more finds it stored: a run's results would fill the memory.
        name = f"{work.step.name} {work.identity}"
        return self.once.begin(name, lambda: self._carry_out(work), kept=False)

    async def carry_out(self, work: Work[T]) -> T:
        """The result of a step, which is taken unless it was taken before. Raises the errors of the step."""
        return await asyncio.shield(self.begin(work))

    async def _carry_out(self, work: Work[T]) -> T:
        if work.identity not in self._stored:
            await self.expect([work])
        outcome, already = None, self._stored.pop(work.identity)
        if not already:
            gate = work.step.gate if work.gate is None else work.gate
            async with self._gates.get(gate, nullcontext()):
                outcome = await self._do(work)
        if work.identity not in self.done:
            ended = await asyncio.to_thread(work.ended, already, outcome)
            kind = work.step.name
            await self.record.job_done(work.identity, kind, ended.result, message=ended.message, **ended.more)
            self.done.add(work.identity)
            if kind not in LASTING:
                self._forget_behind(work.identity)
        return await asyncio.to_thread(work.read)

    def _forget_behind(self, identity: str) -> None:
        self._passing.append(identity)
        if len(self._passing) > REMEMBERED:
            old = self._passing.popleft()
            for names in (self.done, self.sent, self._expected):
                names.discard(old)

    async def _do(self, work: Work[T]) -> Any:
        identity, kind = work.identity, work.step.name

        async def begin() -> None:
            # Another run may have finished it since it was looked up: then this one sent, and paid, nothing.
            if not await asyncio.to_thread(work.stored):
                await self.record.dispatch(identity, kind)
                self.sent.add(identity)

        self.under_way.add(identity)
        try:
            with tracing.span(f"{kind} job", run=self.run, identity=identity):
                return await work.do(begin)
        except (DatabaseAway, LimitReached):
            raise  # it has not failed
        except LeakrangeError as error:
            if not being_cancelled():
                await self.record.job_failed(identity, kind, f"{work.failing}: {error.detail}")
            raise
        finally:
            if not being_cancelled():
                self.under_way.discard(identity)

    async def pack(self, identities: Iterable[str]) -> None:
        """Put the stored answers of these chunks into few objects; where that fails they stay as they are."""
        try:
            await asyncio.to_thread(self.parties.releases.pack, list(identities))
        except LeakrangeError as error:
            log.warning("answers were not packed", run=self.run, reason=error.detail)

    def name(self, model: PlannedModel) -> str:
        """The name under which the model is served."""
        return model.served_as(self.parties.names)

    def upload(self, identity: str) -> str:
        """The name that users give the upload of that identity. The identity itself would let a reader
        test guesses of the model's recipe."""
        return f"{self.run}.{self.parties.names.of('upload', identity)}"


def purpose_of(model: PlannedModel | PlannedObfuscator, **more: str) -> Purpose:
    """The purpose of work for a model; ``more`` are further members, such as the defence that it stands
    under."""
    if isinstance(model, PlannedObfuscator):
        return Purpose(model=model.id, **more)
    return Purpose(model=model.id, provider=model.provider, behaviour=model.plays, **more)
