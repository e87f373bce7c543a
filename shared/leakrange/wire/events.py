"""The events of a run, in order, with the data of each kind, as the controller sends them.

``GET /v1/runs/{run}/events`` streams them as server-sent events: ``event`` is the kind, ``id`` the number,
and ``data`` one of these schemas as JSON, with ``at``, the time of the event (ISO 8601, UTC), and without
members that say nothing. They name API keys by their accounts, and hold no key.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from leakrange.strict import Strict

__all__ = [
    "EVENTS",
    "AccountOpened",
    "AccountsSettled",
    "Holder",
    "JobDone",
    "JobFailed",
    "JobProgress",
    "JobStarted",
    "JobsExpected",
    "ModelServed",
    "Purpose",
    "RunEvent",
    "RunFinished",
    "RunQueued",
    "RunRunning",
    "TrialEnded",
    "TrialStarted",
]

Kind = Annotated[str, Field(min_length=1, max_length=16)]
"""The name of a kind of step (`leakrange.jobs.step`)."""
Holder = Literal["users", "attacker", "student", "auditor", "honest"]


class RunEvent(Strict):
    """What all have in common: ``message`` says for people what happened."""

    message: str = ""

    def told(self) -> dict[str, Any]:
        """As it is stored: without what says nothing."""
        return self.model_dump(mode="json", exclude_defaults=True)


class RunQueued(RunEvent):
    """``run.queued``: a scenario was taken, and expands to so many trials and models."""

    name: str
    trials: int
    models: int


class RunRunning(RunEvent):
    """``run.running``: its first work begins. ``steps`` says how many of each kind the plan has; what depends
    on answers is not among them."""

    steps: dict[Kind, int] = {}


class RunFinished(RunEvent):
    """``run.finished``: nothing follows it."""

    state: Literal["done", "failed", "cancelled"]


class Purpose(RunEvent):
    """What a job or an account is for, by the ids of the run's plan. ``model`` is ``{provider}-s{seed}``,
    or what else is trained; ``provider`` and ``defence`` are names of the scenario, and ``behaviour`` is the
    provider's. ``key`` is the account that pays."""

    model: str = ""
    provider: str = ""
    behaviour: str = ""
    defence: str = ""
    key: str = ""
    stream: str = ""
    probe: str = ""
    trial: str = ""


class JobsExpected(RunEvent):
    """``jobs.expected``: so many more jobs of a kind are going to be done."""

    kind: Kind
    count: int


class _OfJob(Purpose):
    kind: Kind
    identity: str
    """The same for the same work in any run."""


class JobStarted(_OfJob):
    """``job.started``: a job was sent to the fleet, or a session of users begins."""


class JobProgress(_OfJob):
    """``job.progress``: a share in [0, 1] of a job is done. ``figures`` are of the last epoch of a training,
    on validation samples."""

    progress: float = 0.0
    figures: dict[str, float] = {}


class JobDone(_OfJob):
    """``job.done``. ``samples`` were exchanged over HTTP in so many ``requests``, of ``sent`` bytes;
    none where the answers were stored ``already``, or the model was trained. ``figures`` are what a training
    reached on its validation samples."""

    samples: int = 0
    requests: int = 0
    sent: int = 0
    already: bool = False
    figures: dict[str, float] = {}


class JobFailed(_OfJob):
    """``job.failed``: the trials that need it fail as well."""


class ModelServed(Purpose):
    """``model.served``: a provider serves the model, and the proxy has its route."""


class AccountOpened(Purpose):
    """``account.opened``: an API key may be used from now on, for ``budget`` samples."""

    budget: int
    holder: Holder


class AccountsSettled(RunEvent):
    """``accounts.settled``: what each API key has ``spent``, in samples, as the proxy's ledger says. It takes
    the place of what was counted before."""

    spent: dict[str, int]


class TrialStarted(RunEvent):
    """``trial.started``: everything that the trial needs is there, and its attack begins."""

    trial: str


class TrialEnded(RunEvent):
    """``trial.done``, ``trial.refused`` (a limit gave no more answers) or ``trial.failed``. ``leakage`` names
    the metric among ``metrics`` that the attack is judged by; ``gain`` in [0, 1] is the part of the way from
    chance to that metric's best value that it went, where it has one, and ``beyond`` how far it is beyond
    chance, or its control, in the metric's unit, with the 95 % interval ``low`` to ``high``."""

    trial: str
    provider: str
    behaviour: str
    defence: str
    attack: str
    knowledge: str
    budget: int
    seed: int
    leakage: str
    gain: float | None = None
    beyond: float | None = None
    low: float | None = None
    high: float | None = None
    metrics: dict[str, float] = {}


EVENTS: dict[str, type[RunEvent]] = {
    "run.queued": RunQueued,
    "run.running": RunRunning,
    "run.finished": RunFinished,
    "jobs.expected": JobsExpected,
    "job.started": JobStarted,
    "job.progress": JobProgress,
    "job.done": JobDone,
    "job.failed": JobFailed,
    "model.served": ModelServed,
    "account.opened": AccountOpened,
    "accounts.settled": AccountsSettled,
    "trial.started": TrialStarted,
    "trial.done": TrialEnded,
    "trial.refused": TrialEnded,
    "trial.failed": TrialEnded,
}
"""Every kind of event and what its data is."""
