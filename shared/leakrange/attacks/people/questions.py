"""The queries about a crowd, round by round, as places in its parts: images, and pairs of them for a
verification. Needs no images.

Place k of a part of P people shows the person k mod P (`leakrange.data.crowd`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classes import grouped
from leakrange.data.crowd import PUBLIC_IMAGES, asked_order, part_sizes
from leakrange.data.samples import POOL
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.recipe import Crowd
from leakrange.jobs.samples import Span

__all__ = [
    "asked_pairs",
    "choose_pairs",
    "compared",
    "learnt_from",
    "pair_count",
    "public_pair_count",
    "public_pairs",
]

Pairs = NDArray[np.intp]


def pair_count(images: int) -> int:
    """The number of pairs of so many images: 1225 of 50 (FACELEAKS Section 5.2)."""
    return images * (images - 1) // 2


def choose_pairs(person: NDArray[np.int64], budget: int, seed: int = 0) -> Pairs:
    """``budget`` different pairs (q, 2) of rows of images of one person each, or all where there are fewer.

    Pairs are in the order of the queries, so a smaller budget's pairs are a prefix of a larger one's. Each
    round takes one pair of every class that has one left, so the numbers of pairs per class differ by one at
    most. Within a class, pairs follow a round-robin tournament of its images in random order (the circle
    method): every image is used once before any is used twice, and the numbers of uses differ by 2 at most.
    Only the chosen pairs are enumerated.
    """
    rng = stream(seed, "pairs")
    classes, members = grouped(person)
    images = [rows[shuffled(rng, len(rows))] for rows in members]
    rounds = [shuffled(rng, _rounds(len(rows))) for rows in members]
    total = np.array([pair_count(len(rows)) for rows in members], dtype=np.int64)
    order = shuffled(rng, len(classes))
    asked: list[tuple[int, int]] = []
    sweep = 0
    while len(asked) < budget:
        left = order[total[order] > sweep][: budget - len(asked)]
        if not len(left):
            break
        for index in left:
            each_round = len(images[index]) // 2
            played, match = divmod(sweep, each_round)
            first, second = _match(len(images[index]), int(rounds[index][played]), match)
            asked.append((int(images[index][first]), int(images[index][second])))
        sweep += 1
    return np.array(asked, dtype=np.intp).reshape(-1, 2)


def pairs_within(fold: NDArray[np.int64], person: NDArray[np.int64]) -> tuple[Pairs, NDArray[np.bool_]]:
    """Every pair (q, 2) of rows of one ``fold`` (n,), the lower row first, and whether both show one
    ``person`` (n,): (q,)."""
    first, second = np.triu_indices(len(fold), 1)
    together = fold[first] == fold[second]
    pairs = np.stack([first[together], second[together]], axis=1)
    return pairs, person[pairs[:, 0]] == person[pairs[:, 1]]


def _rounds(images: int) -> int:
    """The rounds of a tournament in which each image meets each other once. With an odd number, one rests in
    each round."""
    return images - 1 if images % 2 == 0 else images


def _match(images: int, played: int, match: int) -> tuple[int, int]:
    """The images of one match of a round: seats played ± d meet, modulo the number of rounds.

    An even number of images has a fixed one, which meets the one that would rest.
    """
    circle = _rounds(images)
    if images % 2 == 0 and match == 0:
        return played, images - 1
    distance = match if images % 2 == 0 else match + 1
    return (played + distance) % circle, (played - distance) % circle


FOLDS = 10
"""The number of folds in which the threshold of a verification is cross-validated."""


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
