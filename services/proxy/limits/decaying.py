"""Answers that decay: the more a key has asked, the fewer decimals it gets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator
from typing_extensions import override

from leakrange.defences.output import Chain, ReleaseContext
from leakrange.services.proxy.limits.base import Ask, Limit, limit_kinds
from leakrange.wire.endpoints import RELEASES

__all__ = ["Decaying"]

Decimals = Annotated[int, Field(ge=0, le=8, strict=True)]


@dataclass(frozen=True)
class Decayed(Chain):
    """A policy's chain whose results are rounded further: each sample's to so many decimals."""

    within: Chain = field(default_factory=Chain)
    decimals: tuple[int, ...] = ()

    @property
    @override
    def transforms(self) -> bool:
        return True

    @override
    def apply(self, values: NDArray[np.floating[Any]], context: ReleaseContext) -> NDArray[np.float32]:
        """Run ``values`` (B, ...) through the chain, and round."""
        released = self.within.apply(values, context).astype(np.float64)
        places = 10.0 ** np.array(self.decimals).reshape(-1, *[1] * (released.ndim - 1))
        # From 2^24 on a float32 has no decimals to round; adding 0 makes 0 of -0.
        rounded = np.where(np.abs(released) < 2.0**24, np.rint(released * places) / places, released)
        return rounded.astype(np.float32) + np.float32(0)


@limit_kinds.register("decaying")
class Decaying(Limit):
    """A key's first ``every`` samples are released with ``decimals`` digits after the point, the next with
    one less, and so on down to ``least``. It refuses nothing. It does not change uploads, whose answers are
    decisions alone."""

    kind: ClassVar[str] = "decaying"
    summary: ClassVar[str] = "the more samples a key has had, the fewer decimals its releases have"
    transforms: ClassVar[bool] = True
    # A limit is {kind, name, key}. It tells the proxy how many samples the key had before.
    script: ClassVar[str] = """
    local function add(limit, samples) return redis.call('HINCRBY', limit_of(limit[2]), limit[3], samples) end
    return {
      check = function() end,
      take = function(limit, ask) return add(limit, ask.samples) - ask.samples end,
      give = function(limit, ask) add(limit, -ask.samples) end,
    }
    """

    decimals: Decimals
    every: Annotated[int, Field(ge=1, le=10**12, strict=True)]
    least: Decimals = 0

    @model_validator(mode="after")
    def _falls(self) -> Self:
        if self.least > self.decimals:
            raise ValueError("least may not exceed decimals")
        return self

    @override
    def concerns(self, ask: Ask) -> bool:
        return ask.endpoint in RELEASES

    @override
    def fields(self, ask: Ask) -> Sequence[str | int]:
        return (ask.key,)

    def schedule(self, had: int, samples: int) -> tuple[int, ...]:
        """The decimals of so many further ``samples`` of a key that ``had`` so many."""
        return tuple(
            max(self.least, self.decimals - number // self.every) for number in range(had, had + samples)
        )

    @override
    def defend(self, chain: Chain, number: int, samples: int) -> Chain:
        return Decayed(chain.stages, within=chain, decimals=self.schedule(number, samples))
