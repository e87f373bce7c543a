"""How much room a release has: an upper bound on what one sample's values can carry, stage by stage."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from leakrange.metrics.capacity import noisy_bits
from leakrange.wire.releases import ReleaseKind

__all__ = ["FLOAT_BITS", "Room"]

FLOAT_BITS = 32
"""Values leave as float32."""


@dataclass(frozen=True)
class Room:
    """What is known of the values that one sample's release may have.

    values: how many there are. bits: how many bits they carry at most. ``low`` and ``high``: between what
    each of them lies. probabilities: whether they are not negative and add up to 1. withheld: so many of them
    at least tell nothing: they are 0, or of logits all equal to the lowest.
    """

    values: int
    bits: float
    low: float = -math.inf
    high: float = math.inf
    probabilities: bool = False
    withheld: int = 0

    @classmethod
    def released(cls, kind: ReleaseKind, values: int) -> Room:
        """Of a model's own release of so many values."""
        if kind == "softmax":
            return cls(values, FLOAT_BITS * values, 0.0, 1.0, probabilities=True)
        return cls(values, FLOAT_BITS * values)

    @property
    def unknown(self) -> Room:
        """After something that may have changed every value: no bits are added by it, and no more is
        known."""
        return Room(self.values, self.bits)

    @property
    def as_probabilities(self) -> Room:
        """After scaling to sum 1. Where nothing is left to scale, all become equal: only of probabilities is
        it certain that what is withheld stays 0."""
        withheld = self.withheld if self.probabilities else 0
        return Room(self.values, self.bits, 0.0, 1.0, probabilities=True, withheld=withheld)

    @property
    def kept(self) -> int:
        """How many values may tell something."""
        return self.values - self.withheld

    def within(self, bits: float) -> Room:
        """The same, where no more than ``bits`` can be carried."""
        return replace(self, bits=min(self.bits, bits))

    def of_levels(self, levels: float) -> float:
        """Bits, where each value that tells something is one of so many levels: which values these are, and
        their levels."""
        return math.log2(math.comb(self.values, self.kept)) + self.kept * math.log2(levels)

    @property
    def power(self) -> float:
        """The most that the squared distances of all values from a fixed point add up to."""
        if self.probabilities:
            return 1.0 - 1.0 / self.values  # from the uniform ones
        return self.values * ((self.high - self.low) / 2.0) ** 2

    def noisy(self, variance: float, entropy: float, power: float) -> Room:
        """After additive noise (`noisy_bits`), of values of at most so much ``power``."""
        if not math.isfinite(power):
            return self.unknown
        return self.unknown.within(noisy_bits(self.values, power, variance, entropy))
