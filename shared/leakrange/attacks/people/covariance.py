"""How concentrated a person's releases are: covariances of classes, the score S of them, and the normal
distribution that has them.

With m images a class of vectors of length k the covariance has rank m − 1 at most. FACELEAKS takes m = 50 and
k = 512. Where m is small, fit a `Projection` on all target releases first (it reads no label) and take the
covariance of few components; say so beside the result. Classes are comparable with equally many images alone
(`classes.equal_images`). A larger S means more spread; whether that indicates members is learnt by
`class_scores.direction`.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classes import grouped
from leakrange.wire.errors import InvalidInput

__all__ = [
    "class_covariance",
    "class_covariances",
    "covariance_score",
    "log_density",
    "upper_triangle",
]

Vectors = NDArray[np.floating]
Floats = NDArray[np.float64]


def class_covariance(vectors: Vectors) -> Floats:
    """The unbiased covariance (k, k) of one class's releases (m, k), m ≥ 2 (FACELEAKS Section 5.1).

    Raises `InvalidInput` for fewer than 2 images, and for values that are not finite.
    """
    if vectors.ndim != 2 or len(vectors) < 2:
        raise InvalidInput(f"a covariance needs releases (m, k) of 2 images or more, not {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise InvalidInput("a release holds values that are not finite")
    exact = np.asarray(vectors, dtype=np.float64)
    centred = exact - exact.mean(axis=0)
    covariance: Floats = centred.T @ centred / (len(exact) - 1)
    return covariance


def class_covariances(releases: Vectors, person: NDArray[np.int64]) -> Floats:
    """Covariances (C, k, k) of the classes of releases (n, k): 8·C·k² bytes. Raises `InvalidInput` where
    there are not as many persons as releases, or none."""
    if len(releases) != len(person) or not len(person):
        raise InvalidInput(f"{len(releases)} releases of {len(person)} images with a person")
    return np.stack([class_covariance(releases[rows]) for rows in grouped(person)[1]])


def covariance_score(covariance: Floats, p: float = 1.0, weight: float = 1.0) -> Floats:
    """S of covariances (..., k, k), (...): FACELEAKS Eq. 3, ``weight`` its λ ≥ 0 (p > 0 is ρ in Section 5.3).

    Eq. 3 writes |σ|_p for single elements, and calls S the "l_p-norm sum over the weighted elements", p = 2
    being "the Euclidean sum". Read here as S = (Σ_i |σ_ii|^p + λ·Σ_{i≠j} ½·|σ_ij|^p)^(1/p): the weights
    multiply the powers, and the root, which changes no order of classes and hence no AUC, keeps S in units of
    variance. p = 1 is the equation to the letter: the diagonal, plus λ times the elements above it. p = 2,
    λ = 2 is the Frobenius norm; λ = 0 counts the variances alone. Another reading, (Σ |w·σ|^p)^(1/p), has λ^p
    (and ½^p) for λ: the same family of scores with another λ.
    """
    if not p > 0 or weight < 0:
        raise InvalidInput(f"S takes p > 0 and λ ≥ 0, not p = {p:g} and λ = {weight:g}")
    diagonal = np.abs(np.diagonal(covariance, axis1=-2, axis2=-1)) ** p
    variances = diagonal.sum(axis=-1)
    rest = (np.abs(covariance) ** p).sum(axis=(-2, -1)) - variances
    # Rounding may make it slightly negative.
    score: Floats = (variances + weight * np.maximum(rest, 0.0) / 2) ** (1 / p)
    return score


def upper_triangle(covariance: Floats) -> Floats:
    """The elements on and above the diagonal of (..., k, k), row by row: (..., k(k + 1)/2)."""
    rows, columns = np.triu_indices(covariance.shape[-1])
    elements: Floats = covariance[..., rows, columns]
    return elements


def log_density(vectors: Floats, mean: Floats, covariance: Floats) -> Floats:
    """ln N(x; mean (d,), covariance (d, d)) of each row of ``vectors`` (n, d): (n,)."""
    factor = np.linalg.cholesky(covariance)
    whitened = np.linalg.solve(factor, (vectors - mean).T)
    log_determinant = 2.0 * np.log(np.diagonal(factor)).sum()
    density: Floats = -0.5 * (
        (whitened**2).sum(axis=0) + log_determinant + vectors.shape[1] * math.log(2 * math.pi)
    )
    return density
