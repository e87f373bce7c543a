"""The samples of a data set that a job is about."""

from __future__ import annotations

import operator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from leakrange.jobs.recipe import DataSpec

__all__ = ["MOST_VARIANTS", "Span", "Split"]

MOST_VARIANTS = 255
"""The greatest number of a variant."""

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
    "drawn",
]


class Span(BaseModel):
    """Samples ``start`` (included) to ``stop`` (excluded) of one split of a data set. Those of the split
    "drawn" are of nobody: see `leakrange.wire.samples.Encoding.drawn`.

    ``variant`` 0 is the samples themselves. Each greater number is one way of changing every sample a little:
    see `leakrange.wire.samples.Encoding.variant`. ``crafted`` is the identity of a `CraftJob`, whose result
    stands in the place of a pool's samples; empty for the samples themselves.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: DataSpec
    split: Split
    start: Annotated[int, Field(ge=0)]
    stop: Annotated[int, Field(ge=1)]
    variant: Annotated[int, Field(ge=0, le=MOST_VARIANTS, exclude_if=operator.not_)] = 0
    crafted: Annotated[str, Field(pattern="^([0-9a-f]{64})?$", exclude_if=operator.not_)] = ""
