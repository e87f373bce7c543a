"""Who is shown: the attacker's own recogniser Ψ_aux gives images their class (Algorithm 1, line 2), one by
one, or by clusters of the service's own answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classes import grouped
from leakrange.metrics.accuracy import accuracy
from leakrange.wire.errors import InvalidInput

__all__ = ["clusters", "deduce_identities", "means", "surest"]


def clusters(releases: NDArray[np.floating], count: int) -> NDArray[np.int64]:
    """The cluster (n,), 0 .. count − 1, of each of ``releases`` (n, k): clusters with the least angles, on
    average over all pairs of two clusters, are joined until ``count`` are left.

    Raises `InvalidInput` for fewer releases than clusters, and for values that are not finite.
    """
    from sklearn.cluster import AgglomerativeClustering

    if releases.ndim != 2 or not 1 <= count <= len(releases):
        raise InvalidInput(f"releases {releases.shape} do not make {count} clusters")
    if not np.isfinite(releases).all():
        raise InvalidInput("a release holds values that are not finite")
    exact = np.asarray(releases, dtype=np.float64)
    length = np.linalg.norm(exact, axis=1, keepdims=True)
    unit = exact / np.where(length > 0, length, 1.0)  # of unit vectors, distances order as angles do
    labels: NDArray[np.int64] = (
        AgglomerativeClustering(count, linkage="average").fit_predict(unit).astype(np.int64)
    )
    return labels


def means(vectors: NDArray[np.floating], cluster: NDArray[np.int64]) -> NDArray[np.float64]:
    """Replace each of ``vectors`` (n, d) by the mean direction of its ``cluster`` (n,)."""
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.asarray(vectors, dtype=np.float64) / np.where(length > 0, length, 1.0)
    directions = np.empty_like(unit)
    for rows in grouped(cluster)[1]:
        directions[rows] = unit[rows].mean(axis=0)
    return directions


Vectors = NDArray[np.floating]


@dataclass(frozen=True)
class Deduced:
    """person: deduced labels (n,), out of those of the references. distance: (n,), to that person's centroid.
    margin: (n,), how much farther the next person's centroid is; infinite where there is but one. accuracy:
    the share of correct ones in [0, 1], where the truth is known.

    ``person`` can be used wherever a person label can: `covariance.class_covariances`,
    `questions.choose_pairs`. A deduced class counts as a member where the person with that label is one.
    """

    person: NDArray[np.int64]
    distance: NDArray[np.float64]
    margin: NDArray[np.float64]
    accuracy: float | None = None


def deduce_identities(
    images: Vectors,
    references: Vectors,
    reference_person: NDArray[np.int64],
    truth: NDArray[np.int64] | None = None,
    normalise: bool = True,
) -> Deduced:
    """Gives each image (n, d) the person whose mean reference is nearest.

    ``images`` and ``references`` (r, d) are embeddings by the attacker's *own* net, not releases of the
    target. normalise: scales embeddings and means to length 1, so that only the angle counts. On a tie the
    lowest label wins. Raises `InvalidInput` where shapes do not match.
    """
    if images.ndim != 2 or references.ndim != 2 or images.shape[1] != references.shape[1]:
        raise InvalidInput(f"embeddings {images.shape} and references {references.shape} do not match")
    if len(references) != len(reference_person) or not len(references):
        raise InvalidInput(f"{len(references)} references of {len(reference_person)} persons")
    asked, known = (_unit(v) if normalise else np.asarray(v, np.float64) for v in (images, references))
    classes, members = grouped(reference_person)
    centroids = np.stack([known[rows].mean(axis=0) for rows in members])
    if normalise:
        centroids = _unit(centroids)
    squares = (asked**2).sum(axis=1)[:, None] - 2 * asked @ centroids.T + (centroids**2).sum(axis=1)
    nearest = squares.argmin(axis=1)
    person = classes[nearest]
    distances = np.sqrt(np.maximum(squares, 0.0))
    distance = distances[np.arange(len(images)), nearest]
    margin = np.full(len(images), np.inf)
    if len(classes) > 1:
        margin = np.partition(distances, 1, axis=1)[:, 1] - distance
    return Deduced(person, distance, margin, None if truth is None else accuracy(person, truth))


def surest(deduced: Deduced, share: float) -> NDArray[np.int64]:
    """The persons (n,) of the ``share`` of images whose margins are greatest, rounded up; −1 for all
    others."""
    kept = np.argsort(-deduced.margin, kind="stable")[: int(np.ceil(share * len(deduced.margin)))]
    person = np.full(len(deduced.person), -1)
    person[kept] = deduced.person[kept]
    return person


def _unit(vectors: Vectors) -> NDArray[np.float64]:
    exact = np.asarray(vectors, dtype=np.float64)
    length = np.linalg.norm(exact, axis=1, keepdims=True)
    unit: NDArray[np.float64] = exact / np.where(length > 0, length, 1.0)
    return unit
