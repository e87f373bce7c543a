"""Finding substitutes by how much nearer one record is to an observed sample than all others are."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.substitutes.substitutes import (
    SubstituteAttack,
    SubstituteEvidence,
    nearest_records,
    squared_distances,
)
from leakrange.wire.errors import InvalidInput

__all__ = ["SubstituteMargin"]


@attacks.register("substitute-margin")
class SubstituteMargin(SubstituteAttack):
    """The largest margin by which the record is nearer to an observed sample than every other record is.

    The margin is of squared distances: between two records the logarithm of their likelihood ratio, up to a
    factor, where noise is Gaussian. What noise adds to the distance of all records cancels out of it. Without
    noise it ranks records that were not sent as their distance does.
    """

    name: ClassVar[str] = "substitute-margin"
    summary: ClassVar[str] = "what leaves devices is nearer to substitutes than to all other records"
    equation: ClassVar[str] = "max_v (min_{x' ≠ x} ‖z_v − x'‖² − ‖z_v − x‖²)"

    def score(self, evidence: SubstituteEvidence) -> NDArray[np.float64]:
        """See `SubstituteAttack.score`. Raises `InvalidInput` for a single record too."""
        if len(evidence.records) < 2:
            raise InvalidInput("a margin is between two records, or more")
        nearest, first, second = nearest_records(evidence)
        scores = np.empty(len(evidence.records))
        for place, squared in squared_distances(evidence):
            is_nearest = nearest[:, None] == np.arange(place.start, place.stop)
            scores[place] = (np.where(is_nearest, second[:, None], first[:, None]) - squared).max(axis=0)
        return scores
