"""Groups of samples that resemble each other, so that they are no independent witnesses."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.samples import Labelled, Names, names
from leakrange.data.splits import connected

__all__ = ["NEAR_COPIES", "apart_as_users", "groups_of", "whose"]

NEAR_COPIES = "near copies"
"""Name of the groups of near-copies where they stand among labels; no attribute has it."""


def groups_of(data: Labelled, about: Names = "") -> NDArray[np.int64]:
    """A number for each sample (N,), equal for near-copies and for all samples of one person.

    Where the person is the thing to infer (one of those that ``about`` names), people are classes, and
    samples of one count as independent unless they are near-copies.
    """
    person = whose(data.name, about)
    return data.group if person not in data.labels else connected(data.group, data.labels[person])


def apart_as_users(
    data: Labelled, chosen: NDArray[np.integer] | slice, about: Names = ""
) -> NDArray[np.int64]:
    """A number for each of the ``chosen`` samples, equal for those that must be held out together. Then
    held-out samples are as far from the others as users' samples are, those of the split "test".

    Where users are people with chosen samples, the number is that of near-copies, such as windows of one
    recording: holding out whole people would choose for strangers. Otherwise it is that of `groups_of`.
    """
    person = whose(data.name, about)
    if person in data.labels:
        people = data.labels[person]
        known = {*people[chosen].tolist()} & {*people[data.where("test")].tolist()} - {-1}
        if known:
            return data.group[chosen]
    return groups_of(data, about)[chosen]


def whose(data: str, about: Names = "") -> str:
    """The attribute that names the person of a sample of the set ``data``; "" where there is none, or
    ``about`` names it."""
    entry = datasets.get(data)
    person = None if entry is None else entry.person
    return "" if person is None or person in names(about) else person
