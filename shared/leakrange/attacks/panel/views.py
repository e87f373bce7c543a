"""Views of releases for a learner: the values, their logarithms, or products of them, standardised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.learning import scale_of, standardised

__all__ = ["ReleaseView"]

LEAST = 1e-6
"""Smaller probabilities are raised to this one before the logarithm is taken."""
WIDEST = 16
"""Longer releases get squares, but no products of two values: there would be too many."""


@dataclass(frozen=True)
class ReleaseView:
    """A way to read releases (V, N) of a panel's records: ``raw`` numbers, ``log`` arithms, ``both`` side by
    side, or either with ``squares`` and products of two, which show an attribute that moves a margin or a
    variance. Means and deviations are those of the records that the view was made of."""

    name: str
    scale: tuple[NDArray[np.float64], NDArray[np.float64]]
    squared: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None

    @classmethod
    def of(cls, name: str, rows: NDArray[np.float32]) -> ReleaseView:
        """The view ``name``, standardised by ``rows`` (A, N)."""
        scale = scale_of(_read(name, rows))
        if not name.endswith("squares"):
            return cls(name, scale)
        return cls(name, scale, scale_of(_products(standardised(_read(name, rows), *scale))))

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """``rows`` (V, N) as a learner reads them (V, M)."""
        values = standardised(_read(self.name, rows), *self.scale)
        return values if self.squared is None else standardised(_products(values), *self.squared)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays from which `from_arrays` makes it again."""
        mean, deviation = self.scale
        arrays = {"view": np.array(self.name), "mean": mean, "deviation": deviation}
        if self.squared is not None:
            arrays |= {"squares.mean": self.squared[0], "squares.deviation": self.squared[1]}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ReleaseView:
        """The view that these `arrays` describe."""
        squared = None
        if "squares.mean" in arrays:
            squared = (arrays["squares.mean"], arrays["squares.deviation"])
        return cls(str(arrays["view"]), (arrays["mean"], arrays["deviation"]), squared)


def _read(name: str, rows: NDArray[np.float32]) -> NDArray[np.float32]:
    if name.startswith("raw"):
        return rows
    logarithms = np.log(np.maximum(rows, LEAST))
    return np.concatenate([rows, logarithms], axis=1) if name == "both" else logarithms


def _products(values: NDArray[np.float32]) -> NDArray[np.float32]:
    count = values.shape[1]
    first, second = np.triu_indices(count) if count <= WIDEST else (np.arange(count), np.arange(count))
    return np.concatenate([values, values[:, first] * values[:, second]], axis=1)
