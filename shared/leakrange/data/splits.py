"""Cutting of a set into train, validation, auxiliary and test so that near-copies stay together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.samples import SPLITS
from leakrange.jobs.recipe import Subset
from leakrange.wire.errors import InvalidInput

__all__ = [
    "TEST_SHARE",
    "UNUSED",
    "by_groups",
    "connected",
    "draw_canaries",
    "draw_members",
    "draw_pool",
    "first_of_each",
    "partition",
    "share_of",
    "shuffled",
    "shuffled_groups",
    "stream",
    "whole_groups",
]

TRAIN, VALIDATION, AUXILIARY, TEST, HELD_OUT = (
    SPLITS.index(name) for name in ("train", "validation", "auxiliary", "test", "held-out")
)
UNUSED = 255
"""In the place of a split: the sample is in none."""
TEST_SHARE = 0.2
"""Share of the samples set aside for testing in sets without an official split."""


def stream(seed: int, purpose: str) -> np.random.Generator:
    """A separate random stream for every purpose: one more draw for one purpose shifts no other."""
    return np.random.default_rng([seed % 2**64, int.from_bytes(purpose.encode(), "little")])


def shuffled(rng: np.random.Generator, n: int) -> NDArray[np.intp]:
    """A random order of 0..n-1 that depends on the generator's raw stream alone, hence on no version of
    `permutation`."""
    return np.argsort(rng.random(n), kind="stable")


def connected(group: NDArray[np.int64], value: NDArray[np.int64]) -> NDArray[np.int64]:
    """The finest grouping (N,) that cuts neither a ``group`` (N,) nor the samples of one ``value`` (N,; -1
    where unknown), such as a person: the connected components, numbered from 0."""
    _, by_group = np.unique(group, return_inverse=True)
    values = np.where(value < 0, value.max(initial=-1) + 1 + by_group, value)
    _, by_value = np.unique(values, return_inverse=True)
    component = by_group
    while True:
        before = component
        for index in (by_value, by_group):
            lowest = np.full(index.max(initial=-1) + 1, len(group))
            np.minimum.at(lowest, index, component)
            component = lowest[index]
        if (component == before).all():
            return np.unique(component, return_inverse=True)[1].astype(np.int64)


def whole_groups(official: NDArray[np.uint8], group: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The official split with every group on one side: where copies lie on both, all go to the later split
    (test wins).

    So a copy of a test sample is never trained on, and the official test samples all stay test samples.
    """
    _, index = np.unique(group, return_inverse=True)
    latest = np.zeros(index.max(initial=-1) + 1, dtype=np.uint8)
    np.maximum.at(latest, index, official)
    return latest[index]


def partition(
    group: NDArray[np.int64],
    official: NDArray[np.uint8] | None,
    validation: float,
    auxiliary: float,
    seed: int,
) -> NDArray[np.uint8]:
    """Index into `SPLITS` of every sample, uint8 (N,); samples of one group always get the same.

    ``validation`` and ``auxiliary`` are shares of the samples that are not test samples (nor official
    validation samples, where there are some: then ``validation`` is not used). Without an official split 20
    % are test samples. A share is met up to half of the largest group. The test samples depend on the seed
    alone; the auxiliary ones do not move when ``validation`` is changed, nor the other way round.

    Raises `InvalidInput` if the shares leave nothing to train on.
    """
    if validation + auxiliary >= 1.0:
        raise InvalidInput(
            f"validation ({validation:g}) and auxiliary ({auxiliary:g}) together leave no training samples",
            hint="lower one of the two shares",
        )
    rng = stream(seed, "split")
    if official is None:
        split = np.full(len(group), TRAIN, dtype=np.uint8)
        split[share_of(group, shuffled_groups(group, rng), TEST_SHARE)] = TEST
    else:
        split = whole_groups(official, group)
        if (split == VALIDATION).any():
            validation = 0.0
    pool = np.flatnonzero(split == TRAIN)
    order = shuffled_groups(group[pool], rng)
    split[pool[share_of(group[pool], order, validation)]] = VALIDATION
    split[pool[share_of(group[pool], order[::-1], auxiliary)]] = AUXILIARY
    if len(group) and not (split == TRAIN).any():
        raise InvalidInput(
            "the split leaves no training samples", hint="lower the shares, or take more samples"
        )
    return split


def shuffled_groups(group: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """The distinct groups in random order."""
    distinct = np.unique(group)
    return distinct[shuffled(rng, len(distinct))]


def share_of(group: NDArray[np.int64], order: NDArray[np.int64], share: float) -> NDArray[np.bool_]:
    """Mask of the samples of the first groups of ``order`` that together make up ``share`` of all samples."""
    distinct, index, size = np.unique(group, return_inverse=True, return_counts=True)
    rank = np.searchsorted(distinct, order)
    ends = np.cumsum(size[rank])
    chosen = np.zeros(len(distinct), dtype=bool)
    chosen[rank] = ends - size[rank] / 2 < share * len(group)
    return chosen[index]


def first_of_each(split: NDArray[np.uint8], limit: int, seed: int) -> NDArray[np.intp]:
    """Ascending indices of ``limit`` random samples of every split (all where it has fewer).

    They are random, because given sets are often sorted by class or person; a smaller limit keeps a part of
    the samples that a larger one keeps.
    """
    order = shuffled(stream(seed, "limit"), len(split))
    kept = [order[split[order] == part][:limit] for part in range(len(SPLITS))]
    return np.sort(np.concatenate(kept))


def draw_pool(split: NDArray[np.uint8], group: NDArray[np.int64], pool: int, seed: int) -> NDArray[np.intp]:
    """Ascending indices of a random pool of so many training samples, and of all other samples.

    The pool is drawn group by group. The last group may exceed the pool's size; its surplus samples are in no
    split. Raises `InvalidInput` where there are fewer training samples.
    """
    training = np.flatnonzero(split == TRAIN)
    if pool > len(training):
        raise InvalidInput(
            f"a pool of {pool} samples cannot be drawn from {len(training)} training samples",
            hint="draw a smaller pool, or raise 'limit'",
        )
    chosen = by_groups(training, group, stream(seed, "pool"))[:pool]
    return np.sort(np.concatenate([chosen, np.flatnonzero(split != TRAIN)]))


def by_groups(
    samples: NDArray[np.int64], group: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """These indices of samples, group by group in random order."""
    order = shuffled_groups(group[samples], rng)
    rank = np.empty(len(order), dtype=np.int64)
    rank[np.argsort(order, kind="stable")] = np.arange(len(order))
    turn = rank[np.searchsorted(np.sort(order), group[samples])]
    return samples[np.argsort(turn, kind="stable")]


def draw_members(group: NDArray[np.int64], subset: Subset) -> NDArray[np.bool_]:
    """Mask of the members among the samples of a pool with these groups: whole groups, together the subset's
    share of the pool up to half of the largest group, or with canaries each by a fair coin of its own; with
    ``rest`` all samples that the seed does not draw.

    Raises `InvalidInput` where all are members, or none.
    """
    if subset.canaries is None:
        order = shuffled_groups(group, stream(subset.seed, "members"))
        drawn = share_of(group, order, subset.share)
    else:
        drawn = stream(subset.seed, "coins").random(len(group)) < 0.5
    if drawn.all() or not drawn.any():
        raise InvalidInput(
            f"a share of {subset.share:g} of {len(group)} samples in {len(np.unique(group))} groups of "
            "near-copies leaves no members, or nothing but members",
            hint="draw a larger pool",
        )
    return ~drawn if subset.rest else drawn


def draw_canaries(subset: Subset, seed: int) -> NDArray[np.intp]:
    """The places in the pool of its canaries, which the ``seed`` of the data draws; empty where the subset
    has none."""
    return shuffled(stream(seed, "canaries"), subset.pool)[: subset.canaries or 0]
