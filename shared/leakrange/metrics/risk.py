"""The reconstruction risk R of VICIOUS (Eq. 6): how much nearer a reconstruction is than the mean sample.

R is the mean of d(x, μ) / d(x, x̃), with the Mahalanobis distance d. Guessing μ has R = 1. The covariance of
pictures is close to singular, so R depends on how it is inverted, and may even order two reconstructions
differently. Both inverses here are pseudo-inverses of the eigenvectors that they keep. An R is reported with
the number of these (rank), and with the least eigenvalue kept relative to the largest (tolerance).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.reconstruction import ROUNDING

__all__ = ["Distances", "Inverse", "Inverses", "Moments"]

HELD = 0.99
"""The share of the variance that the well-conditioned inverse keeps."""
BATCH = 512


@dataclass(frozen=True)
class Distances:
    """Mahalanobis distances of samples: from the mean, ``far`` (V,), and from their reconstructions, ``near``
    (V,).

    ``floor`` is the root mean square distance of a sample of 8 bits from its value before rounding. An exact
    reconstruction would have an infinite risk; no distance counts as less than the floor.
    """

    far: NDArray[np.floating]
    near: NDArray[np.floating]
    floor: float
    rank: int
    tolerance: float

    @property
    def risk(self) -> NDArray[np.float64]:
        """d(x, μ) / d(x, x̃) of each sample (V,), whose mean is R."""
        return np.asarray(self.far / np.maximum(self.near, self.floor), dtype=np.float64)


@dataclass(frozen=True)
class Inverse:
    """A pseudo-inverse W·Wᵀ of a covariance, by its factor: ``factor`` W (D, rank), and the ``mean`` (D,) of
    the samples."""

    mean: NDArray[np.floating]
    factor: NDArray[np.floating]
    tolerance: float

    @property
    def rank(self) -> int:
        """Number of eigenvectors that are kept."""
        return int(self.factor.shape[1])

    def distances(self, original: NDArray[np.floating], reconstructed: NDArray[np.floating]) -> Distances:
        """Distances of samples (V, ...) in [0, 1] and their reconstructions, each flattened to D values.
        Raises `ValueError` where they do not have as many."""
        if original.shape != reconstructed.shape or original[:1].size != len(self.mean):
            raise ValueError(
                f"originals {original.shape} and reconstructions {reconstructed.shape} are not of the "
                f"{len(self.mean)} values a sample that the covariance is of"
            )
        far, near = np.empty((2, len(original)), dtype=self.factor.dtype)
        for start in range(0, len(original), BATCH):
            part = slice(start, start + BATCH)
            x, y = (
                each[part].reshape(-1, len(self.mean)).astype(self.factor.dtype)
                for each in (original, reconstructed)
            )
            far[part] = np.linalg.norm((x - self.mean) @ self.factor, axis=1)
            near[part] = np.linalg.norm((x - y) @ self.factor, axis=1)
        floor = float(np.sqrt(ROUNDING) * np.linalg.norm(self.factor))
        return Distances(far, near, floor, self.rank, self.tolerance)


@dataclass(frozen=True)
class Moments:
    """The ``mean`` (D,) and ``covariance`` (D, D) of samples, in float64."""

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]

    @classmethod
    def of(cls, batches: Iterable[NDArray[np.floating]]) -> Moments:
        """Moments of samples in [0, 1] that come in batches (B, ...), each sample flattened to D values.

        Each batch is centred before its products are added (Chan et al. 1979), so that no digits are lost.
        The divisor is N − 1; R does not depend on it. Raises `ValueError` for fewer than two samples.
        """
        count, mean, scatter = 0, np.zeros(0), np.zeros((0, 0))
        for batch in batches:
            values = batch.reshape(len(batch), -1).astype(np.float64)
            if not count:
                mean, scatter = np.zeros(values.shape[1]), np.zeros((values.shape[1],) * 2)
            centre = values.mean(axis=0)
            values -= centre
            shift, total = centre - mean, count + len(values)
            scatter += values.T @ values
            scatter += np.outer(shift, shift * (count * len(values) / total))
            mean = mean + shift * (len(values) / total)
            count = total
        if count < 2:
            raise ValueError("a covariance needs two samples or more")
        return cls(mean, scatter / (count - 1))

    def published(self) -> Inverse:
        """The inverse of the paper's tables: `torch.linalg.pinv` of the covariance in float32, by NumPy.

        It drops eigenvalues up to D·ε of the largest, ε = 2⁻²³ being float32's: torch's default for a matrix
        (D, D). The eigenvalues of a covariance are its singular values. `numpy.linalg.eigh` finds those of
        the float32 matrix in float64, so that the rank does not depend on the machine; the factor is float32
        again. Raises `ValueError` where all samples are equal.
        """
        covariance = self.covariance.astype(np.float32)
        values, vectors = np.linalg.eigh(covariance.astype(np.float64))
        tolerance = len(covariance) * float(np.finfo(np.float32).eps)
        inverse = self._inverse(values, vectors, values > tolerance * values[-1], tolerance)
        return Inverse(inverse.mean.astype(np.float32), inverse.factor.astype(np.float32), tolerance)

    def conditioned(self, held: float = HELD) -> Inverse:
        """A well-conditioned inverse in float64: the fewest leading eigenvectors that hold the share ``held``
        of the variance. Its tolerance is the least of their eigenvalues over the largest. Raises as
        `published` does."""
        values, vectors = np.linalg.eigh(self.covariance)
        shares = np.cumsum(np.maximum(values[::-1], 0.0)) / max(np.maximum(values, 0.0).sum(), 1e-300)
        rank = min(int(np.searchsorted(shares, held)) + 1, len(values))
        kept = np.arange(len(values)) >= len(values) - rank
        return self._inverse(values, vectors, kept, float(values[-rank] / max(values[-1], 1e-300)))

    def _inverse(
        self,
        values: NDArray[np.floating],
        vectors: NDArray[np.floating],
        kept: NDArray[np.bool_],
        tolerance: float,
    ) -> Inverse:
        if not values[-1] > 0:
            raise ValueError("the samples are all equal: their covariance has no inverse of any kind")
        factor = vectors[:, kept] / np.sqrt(values[kept])
        return Inverse(self.mean, factor, tolerance)


@dataclass(frozen=True)
class Inverses:
    """Both inverses of one covariance, for each of which an R is reported."""

    published: Inverse
    conditioned: Inverse

    @classmethod
    def of_moments(cls, moments: Moments) -> Inverses:
        """Factor the covariance for both. Raises as `Moments.published` does."""
        return cls(moments.published(), moments.conditioned())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays that `of` reads, to be stored in an npz."""
        return {
            f"{each.name}_{part.name}": np.asarray(getattr(getattr(self, each.name), part.name))
            for each in fields(self)
            for part in fields(Inverse)
        }

    @classmethod
    def of(cls, arrays: Mapping[str, NDArray[Any]]) -> Inverses:
        """Restore the inverses from `arrays`. Raises `KeyError` where some are missing."""
        return cls(
            *(
                Inverse(
                    arrays[f"{each.name}_mean"],
                    arrays[f"{each.name}_factor"],
                    float(arrays[f"{each.name}_tolerance"]),
                )
                for each in fields(cls)
            )
        )
