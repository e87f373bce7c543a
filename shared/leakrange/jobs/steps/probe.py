"""Query a model over HTTP, as an attacker or as its users do."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from leakrange.jobs.samples import Span
from leakrange.jobs.step import Job, Step, steps
from leakrange.wire.digests import digest
from leakrange.wire.endpoints import RELEASES

__all__ = ["MAX_PAIRS", "PROBE", "ProbeJob"]

Place = Annotated[int, Field(ge=0)]
MAX_PAIRS = 256
"""Most pairs of one probe: the most samples of one request to a provider."""


class ProbeJob(Job):
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
    defence: list[Any] = Field(default_factory=list)
    obfuscators: dict[str, str] = Field(default_factory=dict)
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


PROBE = Step("probe", label="probing", rank=50, job=ProbeJob, stored="npy", gate="probes")
steps.register(PROBE.name, module=__name__)(PROBE)
