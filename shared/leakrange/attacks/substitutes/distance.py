"""Finding substitutes by how near a record is to anything that was observed."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.substitutes.substitutes import (
    SubstituteAttack,
    SubstituteEvidence,
    squared_distances,
)

__all__ = ["SubstituteDistance"]


@attacks.register("substitute-distance")
class SubstituteDistance(SubstituteAttack):
    """Minus the distance to the nearest sample that was observed: 0 for a record that was itself sent.

    Noise on substitutes puts all records far away, and so hides more from this attack than it does from
    others.
    """

    name: ClassVar[str] = "substitute-distance"
    summary: ClassVar[str] = "substitutes are near to what leaves devices: the distance to the nearest upload"
    equation: ClassVar[str] = "−min_v ‖z_v − x‖"

    def score(self, evidence: SubstituteEvidence) -> NDArray[np.float64]:
        """See `SubstituteAttack.score`."""
        scores = np.empty(len(evidence.records))
        for place, squared in squared_distances(evidence):
            scores[place] = -np.sqrt(squared.min(axis=0))
        return scores
