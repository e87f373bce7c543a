"""The input of attacks on substitutes, and the distances that they compare."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from leakrange.attacks.attack import Attack, Knowledge
from leakrange.strict import Strict
from leakrange.wire.errors import InvalidInput

__all__ = ["SubstituteAttack", "SubstituteEvidence", "check", "nearest_records", "squared_distances"]

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
