"""Finding substitutes: which records of real people leave devices in place of users' own samples."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = [
    "SubstituteAttack",
    "SubstituteCorrelation",
    "SubstituteDistance",
    "SubstituteEvidence",
    "SubstituteMargin",
    "nearest_records",
]

BLOCK = 256
"""The number of records that are compared at once with all observed samples."""


class SubstituteParameters(Strict):
    """None: nothing is learned."""


@dataclass(frozen=True)
class SubstituteEvidence:
    """The input of an attack on substitutes.

    observed: what left devices in place of samples (V, D). records: N different records (N, D), each of which
    may be a substitute. Both have one unit of noise in all D values.
    """

    observed: NDArray[np.floating]
    records: NDArray[np.floating]


class SubstituteAttack(Attack):
    """An attack that gives each record a score. A higher score means that it is more likely one of the
    substitutes."""

    kind: ClassVar[str] = "substitutes"
    paper: ClassVar[str] = "after Chen et al. 2020 (GAN-Leaks)"
    consumes: ClassVar[tuple[str, ...]] = ("sample",)
    grants: ClassVar[tuple[str, ...]] = (
        "every sample that users upload",
        "records, some of which are substitutes",
        "if aware, a device that draws for the attacker's own records",
    )
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware", "aware")
    Parameters: ClassVar[type[BaseModel]] = SubstituteParameters
    arrays: ClassVar[type[Any] | None] = SubstituteEvidence

    def on_arrays(self, evidence: Any) -> Any:
        """See `score`."""
        return self.score(evidence)

    @abstractmethod
    def score(self, evidence: SubstituteEvidence) -> NDArray[np.float64]:
        """One finite score per record, (N,). Raises `InvalidInput` for evidence that cannot be used."""


def check(evidence: SubstituteEvidence) -> None:
    """Raise `InvalidInput` where there is nothing to compare, or arrays do not fit."""
    observed, records = evidence.observed, evidence.records
    if observed.ndim != 2 or records.shape[1:] != observed.shape[1:] or min(len(observed), len(records)) < 1:
        raise InvalidInput(f"observed samples {observed.shape} and records {records.shape} do not fit")
    if not np.isfinite(observed).all():
        raise InvalidInput("an observed sample holds values that are not finite")


def squared_distances(evidence: SubstituteEvidence) -> Iterator[tuple[slice, NDArray[np.float64]]]:
    """The squared Euclidean distances (V, B) to each block of B records, and where it is among them. Raises
    as `check`."""
    check(evidence)
    observed, records = evidence.observed, evidence.records
    centre = observed.mean(axis=0, dtype=np.float64)  # large common parts would cost digits
    x = observed - centre
    squares = np.einsum("vd,vd->v", x, x)
    for start in range(0, len(records), BLOCK):
        place = slice(start, min(start + BLOCK, len(records)))
        y = records[place] - centre
        yield place, np.maximum(squares[:, None] - 2.0 * x @ y.T + np.einsum("bd,bd->b", y, y), 0.0)


def nearest_records(
    evidence: SubstituteEvidence,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """The record nearest to each observed sample (V,), its squared distance (V,), and that of the second
    nearest (V,), which is infinite for a single record."""
    count = len(evidence.observed)
    nearest = np.zeros(count, dtype=np.int64)
    first, second = np.full(count, np.inf), np.full(count, np.inf)
    for place, squared in squared_distances(evidence):
        best = squared.argmin(axis=1)
        least = squared[np.arange(count), best]
        squared[np.arange(count), best] = np.inf
        nearer = least < first
        second = np.minimum(np.maximum(first, least), np.minimum(second, squared.min(axis=1)))
        nearest[nearer] = place.start + best[nearer]
        first = np.minimum(first, least)
    return nearest, first, second


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
