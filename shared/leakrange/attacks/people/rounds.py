"""What is asked about a crowd, round by round, told by places in its parts alone: no image is needed for it.

Place k of a part of P people shows the person k mod P (`leakrange.data.crowd`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.pairs import choose_pairs
from leakrange.data.crowd import PUBLIC_IMAGES
from leakrange.data.splits import shuffled, stream
from leakrange.wire.recipe import Crowd

__all__ = ["FOLDS", "PublicPairs", "asked_pairs", "public_pairs"]

FOLDS = 10
"""In which the threshold of a verification is cross-validated."""

Pairs = NDArray[np.intp]


@dataclass(frozen=True)
class PublicPairs:
    """Pairs (q, 2) of places among the public's images, whether both show one person (q,), and their fold
    (q,): all of a person's pairs are of one fold, and so are both people of the others."""

    places: Pairs
    same: NDArray[np.bool_]
    fold: NDArray[np.int64]


@lru_cache(maxsize=8)
def asked_pairs(crowd: Crowd, count: int) -> Pairs:
    """The first ``count`` pairs (q, 2) of places in the pool that a verification is asked about; in each
    round one pair of everybody. Fewer pairs are the first of more."""
    person = np.arange(2 * crowd.people * crowd.images) % (2 * crowd.people)
    return choose_pairs(person, count)


@lru_cache(maxsize=8)
def public_pairs(crowd: Crowd) -> PublicPairs:
    """All pairs of images that show one of the public, and as many of different people."""
    places = np.arange(PUBLIC_IMAGES * crowd.public)
    person = places % crowd.public
    fold = person % FOLDS
    first, second = np.triu_indices(len(places), 1)
    together = fold[first] == fold[second]
    first, second = first[together], second[together]
    same = person[first] == person[second]
    alike, unlike = np.flatnonzero(same), np.flatnonzero(~same)
    kept = np.concatenate([alike, unlike[shuffled(stream(0, "public pairs"), len(unlike))[: len(alike)]]])
    chosen = np.stack([places[first[kept]], places[second[kept]]], axis=1)
    return PublicPairs(chosen, same[kept], fold[first[kept]].astype(np.int64))
