"""Groups images by person. A class is all images with one person label."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.splits import shuffled, stream
from leakrange.wire.errors import InvalidInput

__all__ = ["class_membership", "equal_images", "grouped"]

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
