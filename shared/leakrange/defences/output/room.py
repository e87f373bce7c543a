"""The room of a release: an upper bound on what one sample's values can carry, stage by stage."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from leakrange.metrics.capacity import noisy_bits
from leakrange.wire.releases import ReleaseKind

__all__ = ["FLOAT_BITS", "Room"]

FLOAT_BITS = 32
"""Bits of a value, which leaves as float32."""


@dataclass(frozen=True)
class Room:
    """Knowledge of the values that one sample's release may have.

    values: their number. bits: the most bits that they carry. ``low`` and ``high``: the bounds of each.
    probabilities: whether they are not negative and add up to 1. withheld: the least number of them that tell
    nothing: they are 0, or for logits all equal to the lowest.
    """

    values: int
    bits: float
    low: float = -math.inf
    high: float = math.inf
    probabilities: bool = False
    withheld: int = 0

    @classmethod
    def released(cls, kind: ReleaseKind, values: int) -> Room:
        """The room of a model's own release of so many values."""
        if kind == "softmax":
            return cls(values, FLOAT_BITS * values, 0.0, 1.0, probabilities=True)
        return cls(values, FLOAT_BITS * values)

    @property
    def unknown(self) -> Room:
        """The room after a stage that may have changed every value: it adds no bits, and nothing else is
        known."""
        return Room(self.values, self.bits)

    @property
    def as_probabilities(self) -> Room:
        """The room after scaling to sum 1. Where nothing is left to scale, all become equal: only with
        probabilities is it certain that withheld values stay 0."""
        withheld = self.withheld if self.probabilities else 0
        return Room(self.values, self.bits, 0.0, 1.0, probabilities=True, withheld=withheld)

    @property
    def telling(self) -> int:
        """Number of values that may tell something."""
        return self.values - self.withheld

    def within(self, bits: float) -> Room:
        """The same room with at most ``bits``."""
        return replace(self, bits=min(self.bits, bits))

    def of_levels(self, levels: float) -> float:
        """Bits where each telling value has one of so many levels: those of the choice of these values, and
        of their levels."""
        return math.log2(math.comb(self.values, self.telling)) + self.telling * math.log2(levels)

    @property
    def power(self) -> float:
        """The largest sum of the squared distances of all values from a fixed point."""
        if self.probabilities:
            return 1.0 - 1.0 / self.values  # from the uniform ones
        return self.values * ((self.high - self.low) / 2.0) ** 2

    def noisy(self, variance: float, entropy: float, power: float) -> Room:
        """The room after additive noise (`noisy_bits`), for values of at most so much ``power``."""
        if not math.isfinite(power):
            return self.unknown
        return self.unknown.within(noisy_bits(self.values, power, variance, entropy))
