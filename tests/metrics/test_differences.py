"""Differences of means against SciPy's t tests and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from leakrange.metrics.intervals import difference_of_means, holm

ONE = {0: 0.61, 1: 0.68, 2: 0.55, 5: 0.72}
TWO = {0: 0.66, 1: 0.70, 2: 0.63, 5: 0.73}


def test_the_same_seeds_are_paired_as_scipy_pairs_them() -> None:
    found = difference_of_means(ONE, TWO)
    wanted = stats.ttest_rel(list(TWO.values()), list(ONE.values()))
    assert found.method == "paired"
    assert found.value == pytest.approx(0.04)
    assert found.interval == pytest.approx(tuple(wanted.confidence_interval(0.95)))
    assert found.freedom == wanted.df == 3


def test_seeds_are_paired_by_their_number_and_not_by_their_place() -> None:
    turned = dict(reversed(TWO.items()))
    assert difference_of_means(ONE, turned) == difference_of_means(ONE, TWO)


@pytest.mark.parametrize("sizes", [(2, 2), (3, 7), (12, 4)])
def test_other_seeds_are_compared_as_welch_does(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(sum(sizes))
    one, two = rng.normal(0.6, 0.02, sizes[0]), rng.normal(0.65, 0.09, sizes[1])
    found = difference_of_means(dict(enumerate(one)), {100 + seed: value for seed, value in enumerate(two)})
    wanted = stats.ttest_ind(two, one, equal_var=False)
    assert found.method == "welch"
    assert found.value == pytest.approx(two.mean() - one.mean())
    assert found.interval == pytest.approx(tuple(wanted.confidence_interval(0.95)))
    assert found.freedom == pytest.approx(wanted.df)


def test_seeds_that_are_only_partly_the_same_are_not_paired() -> None:
    assert difference_of_means(ONE, {**TWO, 9: 0.5}).method == "welch"


def test_one_seed_gives_a_difference_and_no_interval() -> None:
    found = difference_of_means({0: 0.5}, {0: 0.7})
    assert (found.value, found.interval, found.method, found.clear) == (
        pytest.approx(0.2),
        None,
        "none",
        False,
    )
    assert difference_of_means(ONE, {0: 0.7}).interval is None


def test_it_is_clear_where_the_interval_holds_no_zero() -> None:
    assert difference_of_means(ONE, {seed: value + 0.1 for seed, value in TWO.items()}).clear
    assert difference_of_means({seed: value + 0.2 for seed, value in TWO.items()}, ONE).clear
    assert not difference_of_means(ONE, {**TWO, 5: 0.6}).clear
    # by hand: differences 0.05, 0.02, 0.08, -0.12 average 0.0075
    assert difference_of_means(ONE, {**TWO, 5: 0.6}).value == pytest.approx(0.0075)


def test_figures_without_any_spread_differ_for_certain_or_not_at_all() -> None:
    same = difference_of_means({0: 0.5, 1: 0.5}, {2: 0.5, 3: 0.5})
    assert (same.value, same.interval, same.clear) == (0.0, (0.0, 0.0), False)
    assert difference_of_means({0: 0.5, 1: 0.5}, {2: 0.75, 3: 0.75}).clear


def test_nothing_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="no figures"):
        difference_of_means({}, ONE)


def test_the_chance_of_a_difference_is_that_of_the_paired_test() -> None:
    for true in (0.0, 0.04):
        expected = stats.ttest_1samp([TWO[seed] - ONE[seed] for seed in ONE], true).pvalue
        assert difference_of_means(ONE, TWO).chance(true) == pytest.approx(expected)
    assert difference_of_means({0: 0.1}, {0: 0.2}).chance() is None
    # Two seeds that differ alike, but for rounding, say nothing of how others would.
    assert difference_of_means({0: 0.1, 1: 0.2}, {0: 0.3, 1: 0.4}).chance() is None


def test_holm_rejects_in_steps() -> None:
    """Worked: .01 ≤ .05/4, .013 ≤ .05/3, .04 > .05/2, and then nothing more."""
    assert holm([0.04, 0.01, 0.045, 0.013]) == [False, True, False, True]
    assert holm([0.02]) == [True]
    assert holm([]) == []
