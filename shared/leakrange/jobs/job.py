"""Jobs that the controller sends to the fleet, and the fleet's reports. Every job is idempotent by its
identity.

The controller stores an `Order` under ``leakrange:order:{identity}`` and sends a message that names the
identity alone. A worker that gets the message reads the order, takes the lease
``leakrange:lease:{identity}`` and keeps it alive. Where the result is not stored yet, it does the work and
stores the result atomically. It deletes the order, gives up the lease, and reports to the Redis stream
`REPORTS`. A job without a lease that is in no queue was lost, and the controller sends it again.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.jobs.versions import raised
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import RELEASES
from leakrange.wire.errors import Conflict
from leakrange.wire.releases import ReleaseKind

__all__ = [
    "CANCEL",
    "LEASE",
    "MAX_PAIRS",
    "ORDER",
    "REPORTS",
    "AuditJob",
    "FitJob",
    "Job",
    "JobKind",
    "JobReport",
    "Order",
    "ProbeJob",
    "Shown",
    "Span",
    "Split",
    "TrainJob",
]

REPORTS = "leakrange:reports"
LEASE = "leakrange:lease:{identity}"
ORDER = "leakrange:order:{identity}"
"""Holds the `Order` of a job until the job is brought to an end. A message that finds none is left alone."""
CANCEL = "leakrange:cancel:{identity}"
"""Set by the controller: a queued job that finds it is dropped, a training that runs is stopped."""

Place = Annotated[int, Field(ge=0)]
MAX_PAIRS = 256
"""Most pairs of one probe: the most samples of one request to a provider."""
Split = Literal[
    "train",
    "validation",
    "auxiliary",
    "test",
    "held-out",
    "pool",
    "population",
    "public",
    "faces",
    "photographs",
    "enrolled",
    "held",
]
Knowledge = Literal["unaware", "aware", "averaging"]
JobKind = Literal["train", "probe", "fit", "audit"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Span(_Strict):
    """Samples ``start`` (included) to ``stop`` (excluded) of one split of a data set."""

    data: DataSpec
    split: Split
    start: Annotated[int, Field(ge=0)]
    stop: Annotated[int, Field(ge=1)]


class Shown(_Strict):
    """One kind of release for the samples of one span, computed for the owner of a model that nobody
    serves."""

    release: ReleaseKind
    span: Span


class TrainJob(_Strict):
    """Train one model. Result: the artifact folder named by the recipe's digest.

    With ``shown`` the result is an array (samples, N) under the identity: the releases of the model, which
    is trained first if needed. So the owner of a shadow model needs no access to the folder of models.
    """

    kind: Literal["train"] = "train"
    recipe: TrainingRecipe
    shown: Shown | None = None

    def identity(self) -> str:
        """The recipe's digest; with ``shown``, a digest of both."""
        if self.shown is None:
            return self.recipe.digest()
        return digest(["shown", self.recipe.digest(), self.shown.model_dump(mode="json")])


class ProbeJob(_Strict):
    """Query a model over HTTP for one chunk of samples. Result: one array (samples, N) under the identity.

    ``account`` names the API key. The worker derives the key from that name and the fleet's secret, so
    reading the job is not enough to use it. ``model`` is the name it is served under, ``artifact`` its
    recipe digest, ``policy`` the digest of the defence chain in force. ``draw`` counts repeated queries of
    the same samples, ``by`` tells whose query it is: users and attackers never share an answer, so that each
    pay for their own. ``defence`` is a chain of input defences, applied to the samples before they are
    sent. With a model defence in it, nothing is sent: the worker downloads the model and computes what the
    whole chain lets out, of the kind that the endpoint releases. The identity is sent as
    ``Idempotency-Key``, so that a chunk delivered twice spends its budget once.

    ``endpoint`` is one of `leakrange.wire.endpoints` that releases something. One that gives scores is
    queried with ``pairs``: couples of places among the span's samples, each counting as one sample of the
    result and of the budget. For a student service, ``artifact`` is what `Deployment.answers` gives, since
    one artifact can be served in several ways.
    """

    kind: Literal["probe"] = "probe"
    url: str
    account: str
    model: str
    artifact: str
    policy: str
    endpoint: str
    span: Span
    draw: Annotated[int, Field(ge=0)] = 0
    by: Literal["attacker", "users"] = "attacker"
    defence: list[Any] = []
    obfuscators: dict[str, str] = {}
    """The SHA-256 of the file of each trained obfuscator that ``defence`` names, by its digest."""
    pairs: Annotated[list[tuple[Place, Place]], Field(min_length=1, max_length=MAX_PAIRS)] | None = None
    under: str = ""
    """The run under load whose users ask: it asks everything anew, and its answers are its own. Empty for
    what the fleet asks."""

    @model_validator(mode="after")
    def _meant(self) -> Self:
        if self.endpoint not in RELEASES:
            raise ValueError(f"an endpoint that releases something is one of {', '.join(RELEASES)}")
        if (self.pairs is not None) != (RELEASES[self.endpoint] == "score"):
            raise ValueError("pairs are asked for a score, and a score of pairs")
        samples = self.span.stop - self.span.start
        if self.pairs is not None and max(map(max, self.pairs)) >= samples:
            raise ValueError(f"a pair names a place beyond the {samples} samples of the span")
        return self

    @property
    def samples(self) -> int:
        """The number of samples of the budget that it uses."""
        return self.span.stop - self.span.start if self.pairs is None else len(self.pairs)

    def identity(self) -> str:
        """Keyed by model, inputs, policy, draw and role; not by the account, nor by where it is served, nor
        by the files that the digests stand for."""
        left_out = {"url", "account", "model", "obfuscators"} | (set() if self.under else {"under"})
        return digest(self.model_dump(mode="json", exclude=left_out))


class _Attacking(_Strict):
    """A job of an attack. ``versions`` are those that whoever planned it declares of the attack (see
    `leakrange.jobs.versions.raised`): a stored result of others is not used again."""

    attack: str
    versions: dict[str, int] = Field(default_factory=lambda told: raised(told["attack"]))

    def check_versions(self) -> None:
        """Raise `Conflict` where the installed code declares other versions of the attack than the job."""
        here = raised(self.attack)
        if self.versions != here:
            raise Conflict(
                f"the attack {self.attack!r} was planned with versions {self.versions}, and those here are "
                f"{here}: bring all parties to one version, and run the scenario again"
            )

    def _digest(self, *left_out: str) -> str:
        """Of everything but the fields ``left_out``, and the versions where all are the first."""
        first = () if self.versions else ("versions",)
        return digest(self.model_dump(mode="json", exclude={*left_out, *first}))


class FitJob(_Attacking):
    """Fit an attack on releases. Result: arrays by name in one npz under the identity.

    ``evidence`` says what the attack is given: identities of stored releases, and their samples. The kind
    of the attack (`leakrange.attacks.kinds`) defines its form and that of the result.
    """

    kind: Literal["fit"] = "fit"
    parameters: dict[str, Any] = {}
    knowledge: Knowledge = "unaware"
    release: ReleaseKind = "logits"
    evidence: dict[str, Any]
    seed: int = 0

    def identity(self) -> str:
        """Digest of everything that decides the result."""
        return self._digest()


class AuditJob(_Attacking):
    """Download a model as an edge client does, and audit it. Result: a verdict, JSON under the identity.

    ``sha256`` is that of the file on the model's card: where the server sends another one by then, the job
    fails. ``account`` names an API key of the range's own proxy, which the worker derives; ``key`` is that
    of a server elsewhere.
    """

    kind: Literal["audit"] = "audit"
    attack: Literal["audit"] = "audit"
    url: str
    model: str
    sha256: str
    account: str | None = None
    key: Annotated[str | None, Field(repr=False)] = None
    plan: AuditPlan

    def identity(self) -> str:
        """Digest of everything but the keys."""
        return self._digest("account", "key", "attack")


Job = Annotated[TrainJob | ProbeJob | FitJob | AuditJob, Field(discriminator="kind")]


class Order(_Strict):
    """A job as the controller sent it last.

    ``attempt`` counts the failures so far that may pass. ``until`` (Unix time) is when what an earlier
    attempt has left in flight is over.
    """

    job: Job
    attempt: Annotated[int, Field(ge=0)] = 0
    until: float | None = None


class JobReport(_Strict):
    """One entry of the stream `REPORTS` (field ``json``): a job was started, made progress, was done, failed,
    or has to be sent again later (``postponed``).

    ``progress`` in [0, 1]. ``data`` depends on the kind of job (an epoch's figures, queries a second,
    ...); of a postponed one it is the pause in ``seconds``, and the next order's ``attempt`` and ``until``.
    """

    identity: str
    kind: JobKind
    state: Literal["started", "progress", "postponed", "done", "failed"]
    worker: str
    progress: float = 0.0
    message: str = ""
    data: dict[str, Any] = {}
