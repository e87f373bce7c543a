"""Classes of images, a class being all images with one person label: equally many of each, or those of each
that are most alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.splits import shuffled, stream
from leakrange.wire.errors import InvalidInput

__all__ = ["class_membership", "equal_images", "grouped", "left", "most_alike", "trimmed"]

Person = NDArray[np.int64]
Rows = NDArray[np.intp]


def grouped(person: Person) -> tuple[Person, list[Rows]]:
    """The distinct labels of ``person`` (n,), ascending (C,), and the rows of each, ascending."""
    classes, index = np.unique(person, return_inverse=True)
    order = np.argsort(index, kind="stable")
    ends = np.cumsum(np.bincount(index, minlength=len(classes)))
    return classes, np.split(order, ends[:-1]) if len(classes) else []


def class_membership(person: Person, member: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Membership (C,) of the classes, from the membership ``member`` (n,) of their images.

    Raises `InvalidInput` where a person has images of both kinds: either all or none were trained on.
    """
    if person.shape != member.shape:
        raise InvalidInput(f"{len(person)} persons and {len(member)} memberships do not match")
    classes, index = np.unique(person, return_inverse=True)
    membership = np.zeros(len(classes), dtype=bool)
    membership[index] = member
    if mixed := classes[np.unique(index[membership[index] != member])].tolist():
        raise InvalidInput(f"person {mixed[0]} has images of members and of non-members")
    return membership


def equal_images(person: Person, images: int, seed: int = 0) -> Rows:
    """Ascending rows of ``images`` random images of every class that has enough; other classes are left out.

    The off-diagonal elements of a covariance grow when it is estimated from fewer images, so only classes
    with equal numbers of images can be compared.
    """
    rng = stream(seed, "equal images")
    chosen = [rows[shuffled(rng, len(rows))[:images]] for rows in grouped(person)[1] if len(rows) >= images]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.intp)


STEPS = 20
"""The largest number of concentration steps; a handful settles it."""


def left(count: int, share: float) -> int:
    """How many of ``count`` are left without a ``share`` of them, which is rounded down."""
    return count - int(share * count)


def most_alike(vectors: NDArray[np.floating], count: int) -> NDArray[np.intp]:
    """Ascending rows of the ``count`` of ``vectors`` (m, k) that lie nearest to their own mean.

    From the ``count`` nearest to the median of each coordinate, the mean and the nearest to it are taken in
    turn until they stay: the concentration steps of a minimum covariance determinant (Rousseeuw and Van
    Driessen 1999), by Euclidean distances, since a class has fewer vectors than these have coordinates.
    Raises `InvalidInput` unless 1 ≤ ``count`` ≤ m.
    """
    if not 1 <= count <= len(vectors):
        raise InvalidInput(f"{count} of {len(vectors)} vectors cannot be kept")
    exact = np.asarray(vectors, dtype=np.float64)
    kept = _nearest(exact, np.median(exact, axis=0), count)
    for _ in range(STEPS):
        again = _nearest(exact, exact[kept].mean(axis=0), count)
        if (again == kept).all():
            break
        kept = again
    return kept


def trimmed(releases: NDArray[np.floating], people: int, share: float) -> NDArray[np.floating]:
    """Return ``releases`` (people · m, k), person by person, without the ``share`` of each person's releases
    that lies farthest apart, rounded down: (people · h, k)."""
    each = len(releases) // people
    count = left(each, share)
    if count == each:
        return releases
    by_person = releases.reshape(people, each, -1)
    return np.concatenate([vectors[most_alike(vectors, count)] for vectors in by_person])


def _nearest(vectors: NDArray[np.float64], centre: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    order = np.argsort(((vectors - centre) ** 2).sum(axis=1), kind="stable")
    return np.sort(order[:count])
