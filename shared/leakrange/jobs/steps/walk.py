"""Ask a model about samples that depend on its earlier answers."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from leakrange.jobs.samples import Span
from leakrange.jobs.step import Step, steps
from leakrange.jobs.steps.fit import AttackJob
from leakrange.strict import Strict

__all__ = ["MOST_QUERIES", "WALK", "WalkJob", "WalkOrder", "Walks"]

MOST_QUERIES = 2_000
"""The most queries about one record: of a chunk they are asked within the time of one job."""
MOST_TOGETHER = 100_000
"""The most queries of one job."""
CHUNK = 64
"""Records that are walked in step: of each the first point of another class is one of the others."""


BOUNDARY = "boundary"
"""The attack that is left out of names: what it walked was stored before there were others."""


def _usual(attack: str) -> bool:
    return attack == BOUNDARY


class WalkOrder(Strict):
    """What a trial asks for: that the ``attack`` with those ``parameters`` asks about the samples of
    ``span``, of which it is told the classes of ``target`` where it may know them. At most so many
    ``queries`` about each; where they are walked ``together``, in one job, at most so many in all."""

    span: Span
    target: str | None = None
    queries: Annotated[int, Field(ge=2, le=MOST_TOGETHER)]
    attack: Annotated[str, Field(exclude_if=_usual)] = BOUNDARY
    parameters: Annotated[dict[str, Any], Field(exclude_if=operator.not_)] = {}
    together: Annotated[bool, Field(exclude_if=operator.not_)] = False

    @property
    def samples(self) -> int:
        """The most samples that are asked in all."""
        return self.queries if self.together else (self.span.stop - self.span.start) * self.queries

    def chunks(self) -> list[Span]:
        """The spans of the jobs."""
        span = self.span
        starts = range(span.start, span.stop, CHUNK)
        if self.together:
            return [span]
        return [span.model_copy(update={"start": at, "stop": min(at + CHUNK, span.stop)}) for at in starts]


@dataclass(frozen=True)
class Walks:
    """The ``identities`` of a trial's jobs in order, and the arrays that each stored."""

    identities: Sequence[str]
    chunks: Sequence[Mapping[str, NDArray[Any]]]

    def joined(self, name: str) -> NDArray[Any]:
        """Return the array of that name, chunk behind chunk."""
        return np.concatenate([each[name] for each in self.chunks])


class WalkJob(AttackJob):
    """Query a model over HTTP about samples that depend on its earlier answers: see
    `leakrange.attacks.attack.WalkingAttack.walk`, whose arrays are the result, as an npz.

    ``account``, ``model``, ``artifact``, ``policy`` and ``endpoint`` are as in
    `leakrange.jobs.steps.probe.ProbeJob`; the others as in `WalkOrder`. Every
    request has an identity that follows from the job's, so that a walk that begins again pays nothing twice.
    """

    kind: Literal["walk"] = "walk"
    attack: Annotated[str, Field(exclude_if=_usual)] = BOUNDARY
    parameters: Annotated[dict[str, Any], Field(exclude_if=operator.not_)] = {}
    url: str
    account: str
    model: str
    artifact: str
    policy: str
    endpoint: str
    span: Span
    target: str | None = None
    queries: Annotated[int, Field(ge=2, le=MOST_TOGETHER)]
    seed: int = 0

    def identity(self) -> str:
        """Digest of all that decides the result: not of the account, nor of where the model is served."""
        return self._digest("url", "account", "model")


WALK = Step(
    "walk", label="chosen questions", rank=55, job=WalkJob, queue="probe", stored="npz", gate="probes"
)
steps.register(WALK.name, module=__name__)(WALK)
