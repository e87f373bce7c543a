"""Finding records that substitutes are mixed from, by what both have in common beyond the population."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks import attacks
from leakrange.attacks.substitutes.substitutes import BLOCK, SubstituteAttack, SubstituteEvidence, check

__all__ = ["SubstituteCorrelation"]

STUDIED = 2000
"""The largest number of records from which the attacker learns how the population varies."""
RIDGE = 1e-2
"""The share of the mean variance that is added to all variances, so that rare directions do not decide
alone."""


@attacks.register("substitute-correlation")
class SubstituteCorrelation(SubstituteAttack):
    """The largest inner product of a record and an observed sample, about the population's mean and in units
    of its covariance.

    A mean or another mixture of records is far from each of them, but has more in common with them than with
    other records: so membership is told from published means (Homer et al. 2008).
    """

    name: ClassVar[str] = "substitute-correlation"
    summary: ClassVar[str] = "what leaves devices has more in common with the records that it is mixed from"
    paper: ClassVar[str] = "after Homer et al. 2008"
    equation: ClassVar[str] = "max_v (z_v − m)ᵀ (C + ρI)⁻¹ (x − m)"

    def score(self, evidence: SubstituteEvidence) -> NDArray[np.float64]:
        """See `SubstituteAttack.score`."""
        check(evidence)
        records = evidence.records
        step = -(-len(records) // STUDIED)
        studied = records[::step].astype(np.float64)
        mean = studied.mean(axis=0)
        _, singular, axes = np.linalg.svd(studied - mean, full_matrices=False)
        variances = singular**2 / max(len(studied) - 1, 1)
        ridge = RIDGE * max(variances.sum() / records.shape[1], np.finfo(np.float64).tiny)
        z = evidence.observed - mean
        # (C + ρI)⁻¹ is (I − V diag(λ / (λ + ρ)) Vᵀ) / ρ, of which no D × D matrix is needed
        z = (z - (z @ axes.T * (variances / (variances + ridge))) @ axes) / ridge
        scores = np.empty(len(records))
        for start in range(0, len(records), BLOCK):
            scores[start : start + BLOCK] = (z @ (records[start : start + BLOCK] - mean).T).max(axis=0)
        return scores
