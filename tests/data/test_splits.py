"""Splits keep near-copies together, meet their shares, and stay put when other shares change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from leakrange.data import SPLITS
from leakrange.data.splits import (
    TEST_SHARE,
    connected,
    draw_canaries,
    draw_members,
    draw_pool,
    first_of_each,
    partition,
)
from leakrange.jobs.recipe import Subset
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput

TRAIN, VALIDATION, AUXILIARY, TEST = range(4)
GROUP_SIZES = st.lists(st.integers(1, 9), min_size=40, max_size=120)
SEEDS = st.integers(-5, 2**70)


def groups(sizes: list[int], seed: int) -> NDArray[np.int64]:
    """Groups of these sizes with scattered numbers, in random order."""
    group = np.repeat(np.arange(len(sizes), dtype=np.int64) * 7 - 50, sizes)
    return np.random.default_rng(seed % 2**32).permutation(group)


def crossing(group: NDArray[np.int64], split: NDArray[np.uint8]) -> int:
    """Number of groups with images in more than one split."""
    return sum(len(set(split[group == g])) > 1 for g in set(group.tolist()))


@given(st.integers(0, 60), st.integers(1, 40), SEEDS)
def test_connected_samples_are_those_of_the_graph(n: int, people: int, seed: int) -> None:
    rng = np.random.default_rng(seed % 2**32)
    group, person = rng.integers(0, n + 1, n), rng.integers(-1, people, n)
    known = np.flatnonzero(person >= 0)
    graph = coo_array(
        (np.ones(n + len(known)), (np.r_[:n, known], np.r_[n + group, 2 * n + 1 + person[known]])),
        shape=(2 * n + 1 + people,) * 2,
    )
    expected = connected_components(graph, directed=False)[1][:n]
    found = connected(group, person)
    assert ((found[:, None] == found) == (expected[:, None] == expected)).all()
    assert set(found) == set(range(len(set(expected))))


def test_what_a_seed_has_drawn_it_draws_again() -> None:
    """A stored model is named by its seeds, not by what they drew: with other draws whoever reads that name
    would take the wrong samples for its members."""
    group = np.arange(200) // 2
    split = partition(group, None, 0.1, 0.2, 3)
    drawn = {
        "split": split,
        "limit": first_of_each(split, 20, 3),
        "pool": draw_pool(split, group, 50, 3),
        "members": draw_members(group[:60], Subset(pool=60, seed=3)),
        "coins": draw_members(group[:60], Subset(pool=60, seed=3, canaries=20)),
        "canaries": draw_canaries(Subset(pool=60, canaries=20), 3),
    }
    assert {name: digest(each.tolist())[:12] for name, each in drawn.items()} == {
        "split": "dea01fb8d57a",
        "limit": "7913cd22386f",
        "pool": "288242b30f2c",
        "members": "dade693923a3",
        "coins": "ff9b9b0e196e",
        "canaries": "ff299a8dd43c",
    }


@given(GROUP_SIZES, SEEDS, st.floats(0, 0.4), st.floats(0, 0.4))
def test_no_group_crosses_and_shares_are_met(
    sizes: list[int], seed: int, validation: float, auxiliary: float
) -> None:
    group = groups(sizes, seed)
    split = partition(group, None, validation, auxiliary, seed)
    assert crossing(group, split) == 0
    count = np.bincount(split, minlength=4)
    slack = max(sizes) / 2
    assert abs(count[TEST] - TEST_SHARE * len(group)) <= slack
    pool = len(group) - count[TEST]
    assert abs(count[VALIDATION] - validation * pool) <= slack
    assert abs(count[AUXILIARY] - auxiliary * pool) <= slack


@given(GROUP_SIZES, SEEDS, st.integers(0, 2**30), st.booleans())
def test_official_test_images_stay_and_their_copies_leave_training(
    sizes: list[int], seed: int, draw: int, own_validation: bool
) -> None:
    group = groups(sizes, seed)
    parts = [TRAIN, VALIDATION, TEST] if own_validation else [TRAIN, TEST]
    official = np.random.default_rng(draw).choice(
        parts, p=[0.9, *[0.1 / (len(parts) - 1)] * (len(parts) - 1)], size=len(group)
    )
    # Some groups are wholly training samples, or there is nothing to train on.
    official[np.isin(group, np.unique(group)[:10])] = TRAIN
    split = partition(group, official.astype(np.uint8), 0.1, 0.2, seed)
    assert crossing(group, split) == 0
    assert (split[official == TEST] == TEST).all()
    if (official == VALIDATION).any():
        beside_test = np.isin(group, group[official == TEST])
        assert (split[(official == VALIDATION) & ~beside_test] == VALIDATION).all()
        assert set(split[(official == TRAIN)]) & {TRAIN}
    # Nothing becomes a test image that is not a copy of one.
    assert np.isin(group[split == TEST], group[official == TEST]).all()


@given(SEEDS)
def test_one_share_does_not_move_another(seed: int) -> None:
    group = np.arange(500)
    first = partition(group, None, 0.1, 0.15, seed)
    other_validation = partition(group, None, 0.3, 0.15, seed)
    other_auxiliary = partition(group, None, 0.1, 0.4, seed)
    assert ((first == TEST) == (other_validation == TEST)).all()
    assert ((first == AUXILIARY) == (other_validation == AUXILIARY)).all()
    assert ((first == VALIDATION) == (other_auxiliary == VALIDATION)).all()
    assert set(np.flatnonzero(first == AUXILIARY)) < set(np.flatnonzero(other_auxiliary == AUXILIARY))


def test_seeds_give_different_splits() -> None:
    group = np.arange(1000)
    one, two = (partition(group, None, 0.1, 0.15, seed) for seed in (0, 1))
    # 20 % each: two independent draws share 4 % of the images.
    assert 10 <= ((one == TEST) & (two == TEST)).sum() <= 80


def test_shares_that_leave_nothing_are_refused() -> None:
    with pytest.raises(InvalidInput, match="no training samples"):
        partition(np.arange(100), None, 0.4, 0.6, 0)
    with pytest.raises(InvalidInput, match="no training samples"):
        partition(np.zeros(100, dtype=np.int64), np.full(100, TEST, dtype=np.uint8), 0.1, 0.1, 0)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=200), st.integers(1, 60), SEEDS)
def test_limit_keeps_so_many_of_each_split_and_a_part_of_a_larger_limit(
    parts: list[int], limit: int, seed: int
) -> None:
    split = np.array(parts, dtype=np.uint8)
    keep = first_of_each(split, limit, seed)
    assert (np.diff(keep) > 0).all()
    for part in range(len(SPLITS)):
        assert (split[keep] == part).sum() == min(limit, (split == part).sum())
    assert set(keep) <= set(first_of_each(split, limit + 5, seed))


def test_limit_does_not_take_the_first_in_file_order() -> None:
    keep = first_of_each(np.zeros(10_000, dtype=np.uint8), 100, 0)
    assert 4000 < keep.mean() < 6000


@given(GROUP_SIZES, SEEDS, st.floats(0.1, 1.0))
def test_a_pool_is_drawn_from_training_images_alone_and_group_by_group(
    sizes: list[int], seed: int, part: float
) -> None:
    group = groups(sizes, seed)
    split = partition(group, None, 0.1, 0.15, seed)
    training = (split == TRAIN).sum()
    pool = max(1, int(part * training))
    keep = draw_pool(split, group, pool, seed)
    assert (np.diff(keep) > 0).all()
    assert (split[keep] == TRAIN).sum() == pool
    assert (split[keep] != TRAIN).sum() == (split != TRAIN).sum()
    drawn = keep[split[keep] == TRAIN]
    cut = [g for g in set(group[drawn].tolist()) if (group == g).sum() != (group[drawn] == g).sum()]
    assert len(cut) <= 1  # the last one, of which the pool has no room for all


@given(GROUP_SIZES, st.integers(0, 2**53), st.floats(0.2, 0.8))
def test_copies_are_members_together_and_the_rest_are_the_others(
    sizes: list[int], seed: int, share: float
) -> None:
    group = groups(sizes, 1)
    subset = Subset(pool=20, share=share, seed=seed)
    members = draw_members(group, subset)
    assert abs(members.sum() - share * len(group)) <= max(sizes) / 2
    assert all(len(set(members[group == g].tolist())) == 1 for g in set(group.tolist()))
    np.testing.assert_array_equal(draw_members(group, subset.model_copy(update={"rest": True})), ~members)
    np.testing.assert_array_equal(draw_members(group, subset), members)


def test_members_of_two_seeds_overlap_as_independent_draws_do() -> None:
    one, two = (draw_members(np.arange(2000), Subset(pool=2000, seed=seed)) for seed in (3, 4))
    assert 420 <= (one & two).sum() <= 580


def test_pools_and_shares_that_leave_nothing_are_refused() -> None:
    split = np.array([TRAIN] * 10 + [TEST] * 5, dtype=np.uint8)
    with pytest.raises(InvalidInput, match="pool of 11"):
        draw_pool(split, np.arange(15), 11, 0)
    with pytest.raises(InvalidInput, match="no members"):
        draw_members(np.zeros(30, dtype=np.int64), Subset(pool=30))


def test_with_canaries_each_sample_has_a_fair_coin_of_its_own() -> None:
    """Whole groups, or halves that add up, would be no independent coins: a bound of ε rests on these."""
    group = np.arange(400) // 2
    drawn = np.array([draw_members(group, Subset(pool=400, seed=seed, canaries=20)) for seed in range(400)])
    coins = 2.0 * drawn - 1.0
    correlation = coins.T @ coins / len(coins)
    apart = correlation[~np.eye(400, dtype=bool)]
    assert abs(apart.mean()) < 0.001
    assert apart.std() == pytest.approx(1 / np.sqrt(400), rel=0.05)
    assert abs(correlation[::2, 1::2].diagonal().mean()) < 0.02  # of near-copies
    counts = drawn.sum(axis=1)
    assert abs(counts.mean() - 200) < 2
    assert counts.std() == pytest.approx(10, rel=0.15)  # of a binomial, and not of halves
    other = draw_members(group, Subset(pool=400, seed=3, canaries=20, rest=True))
    np.testing.assert_array_equal(other, ~drawn[3])
