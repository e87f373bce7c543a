"""The samples of a data set that a job is about."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from leakrange.jobs.recipe import DataSpec

__all__ = ["Span", "Split"]

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


class Span(BaseModel):
    """Samples ``start`` (included) to ``stop`` (excluded) of one split of a data set."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: DataSpec
    split: Split
    start: Annotated[int, Field(ge=0)]
    stop: Annotated[int, Field(ge=1)]
