"""The queries about a crowd, round by round, as places in its parts. Needs no images.

Place k of a part of P people shows the person k mod P (`leakrange.data.crowd`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.pairs import choose_pairs, pair_count, pairs_within
from leakrange.data.crowd import PUBLIC_IMAGES, asked_order, part_sizes
from leakrange.data.samples import POOL
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.recipe import Crowd
from leakrange.jobs.samples import Span

__all__ = [
    "FOLDS",
    "PublicPairs",
    "asked_pairs",
    "compared",
    "learnt_from",
    "public_pair_count",
    "public_pairs",
]

FOLDS = 10
"""The number of folds in which the threshold of a verification is cross-validated."""

Pairs = NDArray[np.intp]


@dataclass(frozen=True)
class PublicPairs:
    """Pairs (q, 2) of places among the public's images, whether both show one person (q,), and their fold
    (q,). All pairs of one person are in one fold; both people of any other pair are of the same fold."""

    places: Pairs
    same: NDArray[np.bool_]
    fold: NDArray[np.int64]


@lru_cache(maxsize=8)
def asked_pairs(crowd: Crowd, count: int, seed: int) -> Pairs:
    """The first ``count`` pairs (q, 2) of places in the pool to query at a verification, drawn by the data's
    ``seed``. Each round has one pair of every person. A smaller count gives a prefix."""
    place = np.argsort(asked_order(crowd, seed))  # the place in a round of each person's number
    person = np.repeat(np.arange(crowd.asked), crowd.images)
    number, turn = np.divmod(choose_pairs(person, count, seed), crowd.images)
    pairs: Pairs = turn * crowd.asked + place[number]
    return pairs


def public_pair_count(crowd: Crowd) -> int:
    """The number of `public_pairs`, without making them. Each fold has enough pairs of different people."""
    return 2 * crowd.public * pair_count(PUBLIC_IMAGES)


@lru_cache(maxsize=8)
def public_pairs(crowd: Crowd) -> PublicPairs:
    """All pairs of images that show one person of the public, and equally many of different people."""
    person = np.arange(part_sizes(crowd)["public"]) % crowd.public
    fold = person % FOLDS
    pairs, same = pairs_within(fold, person)
    alike, unlike = np.flatnonzero(same), np.flatnonzero(~same)
    kept = np.concatenate([alike, unlike[shuffled(stream(0, "public pairs"), len(unlike))[: len(alike)]]])
    return PublicPairs(pairs[kept], same[kept], fold[pairs[kept, 0]].astype(np.int64))


def learnt_from(crowd: Crowd, references: int) -> NDArray[np.intp]:
    """Places in the public of the images that an attacker can learn from: those that show none of the first
    ``references`` people, whose first images are what other images are compared with."""
    return np.flatnonzero(np.arange(part_sizes(crowd)["public"]) % crowd.public >= references)


def compared(span: Span, asked: int, references: int = 0) -> tuple[Span, list[tuple[int, int]]]:
    """The pairs of images that ``span`` numbers, of ``asked`` pairs in all: a span of images, and the two
    places of each pair in it.

    With ``references``, each image of the pool, or each that can be `learnt_from`, is compared with so many
    images of the public, one after the other. Raises `ValueError` where the data has no crowd.
    """
    crowd = span.data.crowd
    if crowd is None:
        raise ValueError(f"pairs of {span.data.name!r} are pairs of nobody: it has no crowd")
    sizes = part_sizes(crowd)
    if references:
        faces = sizes["public"] + np.arange(sizes[POOL])
        faces = faces if span.split == POOL else learnt_from(crowd, references)
        number = np.arange(span.start, span.stop)
        pairs = np.stack([faces[number // references], number % references], axis=1)
        whole = span.model_copy(update={"split": "faces", "start": 0, "stop": sizes["faces"]})
    else:
        every = (
            asked_pairs(crowd, asked, span.data.seed) if span.split == POOL else public_pairs(crowd).places
        )
        pairs = every[span.start : span.stop]
        whole = span.model_copy(update={"start": 0, "stop": sizes[span.split]})
    return whole, [(int(first), int(second)) for first, second in pairs]
