"""The step: what a worker is given, what names its result, and where that lies."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from leakrange.jobs.step import Job, Step, steps
from leakrange.wire.digests import digest


class WeighJob(Job):
    """Count the weights of a trained model whose size is at least ``least``. Result: ``count`` in an npz."""

    kind: Literal["weigh"] = "weigh"
    artifact: str
    least: Annotated[float, Field(ge=0)]

    def identity(self) -> str:
        """Digest of everything that decides the result."""
        return digest(self.model_dump(mode="json"))


WEIGH = Step(
    "weigh", label="weighing models", rank=65, job=WeighJob, queue="train", stored="npz", gate="fits"
)
steps.register(WEIGH.name, module=__name__)(WEIGH)
