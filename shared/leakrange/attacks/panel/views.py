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
"""Smaller probabilities are raised to this one before the logarithm is taken, or to the smallest above 0
among the records: a model that is sure of its answer tells by them."""
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
    least: float = LEAST

    @classmethod
    def of(cls, name: str, rows: NDArray[np.float32]) -> ReleaseView:
        """The view ``name``, standardised by ``rows`` (A, N)."""
        least = float(rows.min(initial=LEAST, where=rows > 0))
        values = _read(name, rows, least)
        scale = scale_of(values)
        squared = scale_of(_products(standardised(values, *scale))) if name.endswith("squares") else None
        return cls(name, scale, squared, least)

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """``rows`` (V, N) as a learner reads them (V, M)."""
        values = standardised(_read(self.name, rows, self.least), *self.scale)
        return values if self.squared is None else standardised(_products(values), *self.squared)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays from which `from_arrays` makes it again."""
        mean, deviation = self.scale
        arrays = {"view": np.array(self.name), "mean": mean, "deviation": deviation}
        arrays["least"] = np.array(self.least)
        if self.squared is not None:
            arrays |= {"squares.mean": self.squared[0], "squares.deviation": self.squared[1]}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ReleaseView:
        """The view that these `arrays` describe."""
        squared = None
        if "squares.mean" in arrays:
            squared = (arrays["squares.mean"], arrays["squares.deviation"])
        scale = arrays["mean"], arrays["deviation"]
        return cls(str(arrays["view"]), scale, squared, float(arrays.get("least", LEAST)))


def _read(name: str, rows: NDArray[np.float32], least: float) -> NDArray[np.float32]:
    if name.startswith("raw"):
        return rows
    logarithms = np.log(np.maximum(rows, np.float32(least)))
    return np.concatenate([rows, logarithms], axis=1) if name == "both" else logarithms


def _products(values: NDArray[np.float32]) -> NDArray[np.float32]:
    count = values.shape[1]
    first, second = np.triu_indices(count) if count <= WIDEST else (np.arange(count), np.arange(count))
    return np.concatenate([values, values[:, first] * values[:, second]], axis=1)
