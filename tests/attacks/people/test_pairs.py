"""Pairs under a budget: even, without repetition, prefixes of each other; statistics of distances by hand."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from leakrange.attacks.people.class_scores import STATISTICS, class_statistics, distance_statistics
from leakrange.attacks.people.questions import choose_pairs, pair_count
from leakrange.wire.errors import InvalidInput

sizes = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def people(counts: list[int]) -> np.ndarray:
    person = np.repeat(np.arange(len(counts)) * 3 + 1, counts)
    return np.random.default_rng(0).permutation(person)


@given(counts=sizes, budget=st.integers(0, 200), seed=st.integers(0, 99))
def test_chosen_pairs_are_different_pairs_of_one_person_each(
    counts: list[int], budget: int, seed: int
) -> None:
    person = people(counts)
    pairs = choose_pairs(person, budget, seed)
    assert len(pairs) == min(budget, sum(map(pair_count, counts)))
    assert (person[pairs[:, 0]] == person[pairs[:, 1]]).all()
    assert (pairs[:, 0] != pairs[:, 1]).all()
    assert len({tuple(sorted(pair)) for pair in pairs.tolist()}) == len(pairs)


@given(counts=sizes, seed=st.integers(0, 99))
def test_a_budget_for_all_takes_all(counts: list[int], seed: int) -> None:
    person = people(counts)
    every = {(a, b) for a, b in combinations(range(len(person)), 2) if person[a] == person[b]}
    assert {tuple(sorted(pair)) for pair in choose_pairs(person, 10_000, seed).tolist()} == every


@given(counts=sizes, less=st.integers(0, 50), more=st.integers(0, 50), seed=st.integers(0, 99))
def test_a_smaller_budgets_pairs_come_first_in_a_larger_ones(
    counts: list[int], less: int, more: int, seed: int
) -> None:
    person = people(counts)
    small, large = choose_pairs(person, less, seed), choose_pairs(person, less + more, seed)
    np.testing.assert_array_equal(small, large[: len(small)])


@given(images=st.integers(3, 11), classes=st.integers(1, 5), budget=st.integers(1, 250))
def test_classes_and_images_get_even_shares_at_any_time(images: int, classes: int, budget: int) -> None:
    person = people([images] * classes)
    pairs = choose_pairs(person, budget)
    per_class = np.bincount(person[pairs[:, 0]], minlength=person.max() + 1)[np.unique(person)]
    assert per_class.max() - per_class.min() <= 1
    uses = np.bincount(pairs.ravel(), minlength=len(person))
    for label in np.unique(person):
        of_class = uses[person == label]
        assert of_class.max() - of_class.min() <= (1 if images % 2 == 0 else 2)


def test_the_choice_is_random_and_a_matter_of_the_seed() -> None:
    person = people([10] * 3)
    assert choose_pairs(person, 9, 1).tolist() == choose_pairs(person, 9, 1).tolist()
    assert choose_pairs(person, 9, 1).tolist() != choose_pairs(person, 9, 2).tolist()
    uses = np.zeros((30, 30))
    for seed in range(1500):
        first, second = choose_pairs(person, 15, seed).T
        uses[first, second] += 1
        uses[second, first] += 1
    same = (person[:, None] == person) & ~np.eye(30, dtype=bool)
    assert uses[~same].sum() == 0
    # each of 3 · 45 pairs one time in nine
    assert stats.chisquare(uses[np.triu(same)]).pvalue > 0.001


def test_fifty_images_have_as_many_pairs_as_in_the_paper() -> None:
    assert pair_count(50) == 1225


def test_six_statistics_by_hand() -> None:
    found = dict(zip(STATISTICS, distance_statistics(np.array([1.0, 2.0, 4.0, 9.0])), strict=True))
    assert found == {
        "mean": 4.0,
        "median": 3.0,
        "variance": pytest.approx((9 + 4 + 0 + 25) / 4),
        "mean absolute deviation": pytest.approx((3 + 2 + 0 + 5) / 4),
        "median absolute deviation": pytest.approx(1.5),  # of 2, 1, 1, 6
        "inter-quartile range": pytest.approx(5.25 - 1.75),
    }
    assert distance_statistics(np.array([0.7])).tolist() == [0.7, 0.7, 0, 0, 0, 0]


def test_six_statistics_against_scipy() -> None:
    distances = np.random.default_rng(0).gamma(2.0, size=101)
    expected = [
        distances.mean(),
        np.median(distances),
        stats.moment(distances, 2),
        np.abs(distances - distances.mean()).mean(),
        stats.median_abs_deviation(distances),
        stats.iqr(distances),
    ]
    np.testing.assert_allclose(distance_statistics(distances), expected)


def test_statistics_of_the_classes_that_were_asked() -> None:
    person = np.array([5, 2, 5, 2, 2])
    classes, found = class_statistics(np.array([1.0, 10.0, 3.0, 20.0, 30.0], dtype=np.float32), person)
    assert classes.tolist() == [2, 5]
    np.testing.assert_allclose(found[:, :3], [[20, 20, 200 / 3], [2, 2, 1]], rtol=1e-6)


def test_distances_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(InvalidInput, match="finite"):
        distance_statistics(np.array([1.0, np.nan]))
    with pytest.raises(InvalidInput, match="one finite distance or more"):
        distance_statistics(np.array([]))
    with pytest.raises(InvalidInput, match="do not match"):
        class_statistics(np.ones(3), np.zeros(2, dtype=np.int64))
