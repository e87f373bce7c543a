"""Principal component analysis, also for few vectors of very high dimension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

__all__ = ["Projection", "projected"]

Vectors = NDArray[np.floating]


@dataclass(frozen=True)
class Projection:
    """A principal component analysis: mean (d,), and orthonormal axes (d, c) of descending variance.

    Each axis points where its largest coordinate is positive, so that it does not depend on the solver.
    """

    mean: NDArray[np.float64]
    axes: NDArray[np.float64]

    @classmethod
    def fit(cls, vectors: Vectors, components: int) -> Projection:
        """Fit ``vectors`` (n, d). ``components`` is limited to the rank: at most d, and less than n.

        No label is read, so the target's own vectors may be among them (FACELEAKS fits it on all).
        Raises `InvalidInput` for fewer than 2 vectors, or for equal ones.
        """
        if vectors.ndim != 2 or len(vectors) < 2 or components < 1:
            raise InvalidInput(f"no {components} principal components of vectors {vectors.shape}")
        mean = vectors.mean(axis=0, dtype=np.float64)
        centred = vectors - mean
        # The smaller of the two Gram matrices: 400 upper triangles have 131,328 elements each.
        wide = len(vectors) < vectors.shape[1]
        variances, basis = np.linalg.eigh(centred @ centred.T if wide else centred.T @ centred)
        real = variances > max(variances[-1], 0.0) * 1e-12
        chosen = np.flatnonzero(real)[::-1][:components]
        if not len(chosen):
            raise InvalidInput("equal vectors have no principal components")
        axes = centred.T @ basis[:, chosen] / np.sqrt(variances[chosen]) if wide else basis[:, chosen]
        signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
        return cls(mean, axes * signs)

    def apply(self, vectors: Vectors) -> NDArray[np.float64]:
        """Coordinates (n, c) of ``vectors`` (n, d) along the axes."""
        coordinates: NDArray[np.float64] = (vectors - self.mean) @ self.axes
        return coordinates


def projected(known: Vectors, asked: Vectors, components: int | None) -> tuple[Vectors, Vectors]:
    """Project both arrays on the principal components of ``known``; unchanged where ``components`` is
    None."""
    if components is None:
        return known, asked
    fitted = Projection.fit(known, components)
    return fitted.apply(known), fitted.apply(asked)
