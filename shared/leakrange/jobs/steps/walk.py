"""Walk from records to the border of their class, by a model's labels alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from leakrange.jobs.samples import Span
from leakrange.jobs.step import Job, Step, steps
from leakrange.strict import Strict
from leakrange.wire.digests import digest

__all__ = ["MOST_QUERIES", "WALK", "WalkJob", "WalkOrder", "Walked"]

MOST_QUERIES = 2_000
"""The most queries about one record: of a chunk they are asked within the time of one job."""
CHUNK = 64
"""Records that are walked in step: of each the first point of another class is one of the others."""


class WalkOrder(Strict):
    """What a trial asks for: walks from the samples of ``span`` to the border of their class of ``target``,
    of at most so many ``queries`` each."""

    span: Span
    target: str
    queries: Annotated[int, Field(ge=2, le=MOST_QUERIES)]

    @property
    def samples(self) -> int:
        """The most samples that are asked in all."""
        return (self.span.stop - self.span.start) * self.queries

    def chunks(self) -> list[Span]:
        """The spans of the jobs."""
        span = self.span
        starts = range(span.start, span.stop, CHUNK)
        return [span.model_copy(update={"start": at, "stop": min(at + CHUNK, span.stop)}) for at in starts]


@dataclass(frozen=True)
class Walked:
    """The ``distances`` of all records (N,), infinite where no border was found, and how often each was
    ``asked`` about (N,)."""

    distances: NDArray[np.float64]
    asked: NDArray[np.int64]

    @property
    def scores(self) -> NDArray[np.float64]:
        """The distances (N,), with the greatest finite one in place of infinite ones."""
        finite = self.distances[np.isfinite(self.distances)]
        return np.asarray(np.minimum(self.distances, finite.max(initial=0.0) + 1.0))

    @classmethod
    def joined(cls, chunks: Sequence[Mapping[str, NDArray[Any]]]) -> Walked:
        """Join the results of jobs."""
        return cls(*(np.concatenate([each[name] for each in chunks]) for name in ("distances", "asked")))


class WalkJob(Job):
    """Query a model over HTTP about samples that depend on its earlier answers: see
    `leakrange.attacks.membership.boundary.BoundaryWalk`. Result: an npz with the ``distances`` (samples,) and
    how often each record was ``asked`` about (samples,).

    ``account``, ``model``, ``artifact``, ``policy`` and ``endpoint`` are as in
    `leakrange.jobs.steps.probe.ProbeJob`. ``target`` is the attribute whose classes the model gives. Every
    request has an identity that follows from the job's, so that a walk that begins again pays nothing twice.
    """

    kind: Literal["walk"] = "walk"
    url: str
    account: str
    model: str
    artifact: str
    policy: str
    endpoint: str
    span: Span
    target: str
    queries: Annotated[int, Field(ge=2, le=MOST_QUERIES)]
    seed: int = 0

    def identity(self) -> str:
        """Digest of all that decides the result: not of the account, nor of where the model is served."""
        return digest(self.model_dump(mode="json", exclude={"url", "account", "model"}))


WALK = Step(
    "walk", label="walks to the border", rank=55, job=WalkJob, queue="probe", stored="npz", gate="probes"
)
steps.register(WALK.name, module=__name__)(WALK)
