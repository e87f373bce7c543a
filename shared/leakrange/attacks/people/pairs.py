"""Chooses the pairs of a person's images to query at a verification service, within a budget."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classes import grouped
from leakrange.data.splits import shuffled, stream

__all__ = ["choose_pairs", "pair_count", "pairs_within"]

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
