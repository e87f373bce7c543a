"""The state of a run after some of its events."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from leakrange.data import Names
from leakrange.metrics.verdict import Reached
from leakrange.scenario.labels import NO_DEFENCE, attribute, role
from leakrange.wire.runs import FINAL

__all__ = [
    "WINDOW",
    "Flow",
    "KindOfWork",
    "LiveAccount",
    "LiveModel",
    "LiveProvider",
    "MatrixCell",
    "Message",
    "RunState",
    "Running",
]

WINDOW = 10.0
"""Seconds over which a rate is measured."""
Progress = Literal["waiting", "training", "trained", "serving", "failed"]
CellState = Literal["queued", "running", "done", "refused", "failed", "cancelled"]


@dataclass
class Flow:
    """What went over HTTP between two parties: all of it, and when it came of late."""

    samples: int = 0
    requests: int = 0
    _recent: deque[tuple[float, int, int]] = field(default_factory=deque)

    def add(self, at: float, samples: int, requests: int) -> None:
        """Count an exchange at a time (seconds since the epoch)."""
        self.samples += samples
        self.requests += requests
        self._recent.append((at, samples, requests))
        while self._recent[0][0] <= at - WINDOW:
            self._recent.popleft()

    def rate(self, now: float) -> tuple[float, float]:
        """Samples and requests a second, in the `WINDOW` before ``now``."""
        late = [each for each in self._recent if now - WINDOW < each[0] <= now]
        return sum(each[1] for each in late) / WINDOW, sum(each[2] for each in late) / WINDOW


@dataclass
class LiveModel:
    """One model of a provider, or another model that is trained. ``progress`` is the share in [0, 1] of its
    training that is done, ``figures`` are those on validation samples so far."""

    id: str
    label: str
    state: Progress = "waiting"
    progress: float = 0.0
    figures: dict[str, float] = field(default_factory=dict)
    already: bool = False


@dataclass
class LiveProvider:
    """A provider of the scenario with its models, one for each seed, and what was asked of it."""

    name: str
    behaviour: str
    hidden: Names | None
    """What an attack is after; None where nothing is hidden."""
    release: str
    target: Names
    data: str
    classes: list[str]
    """The classes of what an attack is after; of several attributes those of the first."""
    models: dict[str, LiveModel] = field(default_factory=dict)
    flow: Flow = field(default_factory=Flow)

    @property
    def plays(self) -> str:
        """Honest, curious, vicious: its behaviour without the method."""
        return self.behaviour.partition("/")[0]

    @property
    def hides(self) -> str:
        """What an attack is after, in words; empty where nothing is hidden."""
        return attribute(self.hidden) if self.hidden else ""

    @property
    def role(self) -> str:
        """What it does, in words."""
        return role(self.behaviour, self.hidden)

    @property
    def trained(self) -> int:
        """The number of its models that are trained."""
        return sum(each.state in ("trained", "serving") for each in self.models.values())


@dataclass
class LiveAccount:
    """An API key: ``spent`` is the samples that the run has answers for, and once it is ``settled``, the
    figure of the proxy's ledger."""

    name: str
    label: str
    holder: str
    provider: str
    defence: str
    budget: int
    spent: int = 0
    settled: bool = False


@dataclass
class MatrixCell:
    """A trial: one cell of the matrix."""

    id: str
    provider: str
    defence: str
    attack: str
    knowledge: str
    budget: int
    seed: int
    hidden: str
    state: CellState = "queued"
    metric: str = ""
    value: float | None = None
    gain: float | None = None
    reached: Reached = field(default_factory=Reached)
    """How far it went beyond chance, or its control."""
    error: str = ""
    since: int = 0
    """The number of the event that last changed it."""


@dataclass
class KindOfWork:
    """Jobs of one kind."""

    expected: int = 0
    done: int = 0
    failed: int = 0


@dataclass
class Running:
    """A job that is under way."""

    kind: str
    about: str
    progress: float = 0.0
    said: str = ""


@dataclass(frozen=True)
class Message:
    """The message of an event to people, and its time (seconds since the epoch)."""

    number: int
    at: float
    kind: str
    text: str


@dataclass
class RunState:
    """Everything together. ``seq`` is the number of the last event; times are seconds since the epoch."""

    name: str = ""
    state: str = "queued"
    seq: int = 0
    began: float | None = None
    steps: dict[str, int] = field(default_factory=dict)
    """How many steps of each kind the plan has."""
    last: float = 0.0
    clients: dict[str, int] = field(default_factory=dict)
    """How many users each kind of client has."""
    defences: list[str] = field(default_factory=list)
    undefended: list[str] = field(default_factory=list)
    """The names of the defences that do nothing."""
    outside: list[str] = field(default_factory=list)
    """The attacks by outsiders, who ask as any customer does."""
    served: int = 0
    """How many models are to be served."""
    providers: dict[str, LiveProvider] = field(default_factory=dict)
    others: dict[str, LiveModel] = field(default_factory=dict)
    """Other models that are trained: shadow models, obfuscators, students' teachers."""
    flows: dict[str, Flow] = field(default_factory=dict)
    """The exchange of each holder of keys with the proxy."""
    defended: Flow = field(default_factory=Flow)
    """The exchange that went through a defence."""
    accounts: dict[str, LiveAccount] = field(default_factory=dict)
    trials: dict[str, MatrixCell] = field(default_factory=dict)
    work: dict[str, KindOfWork] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    messages: deque[Message] = field(default_factory=lambda: deque(maxlen=8))

    def under(self, defence: str) -> str:
        """The label of a defence of the scenario."""
        return NO_DEFENCE if defence in self.undefended else defence

    @property
    def over(self) -> bool:
        """Whether the run is over."""
        return self.state in FINAL

    @property
    def models(self) -> dict[str, LiveModel]:
        """All models, by id."""
        of_providers = {
            name: each for provider in self.providers.values() for name, each in provider.models.items()
        }
        return of_providers | self.others
