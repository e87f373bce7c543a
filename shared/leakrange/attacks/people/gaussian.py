"""The log-density of a multivariate normal distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["log_density"]

Floats = NDArray[np.float64]


def log_density(vectors: Floats, mean: Floats, covariance: Floats) -> Floats:
    """ln N(x; mean (d,), covariance (d, d)) of each row of ``vectors`` (n, d): (n,)."""
    factor = np.linalg.cholesky(covariance)
    whitened = np.linalg.solve(factor, (vectors - mean).T)
    log_determinant = 2.0 * np.log(np.diagonal(factor)).sum()
    density: Floats = -0.5 * (
        (whitened**2).sum(axis=0) + log_determinant + vectors.shape[1] * math.log(2 * math.pi)
    )
    return density
