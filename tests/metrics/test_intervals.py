import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, stats

from leakrange.metrics import (
    OverSeeds,
    auc,
    auc_interval,
    effective_counts,
    separation,
    summarise,
    wilson_interval,
)


def test_three_seeds_worked_by_hand() -> None:
    found = summarise([0.8, 0.9, 1.0])
    mean, deviation, interval = found.mean, found.deviation, found.interval
    assert mean == pytest.approx(0.9)
    assert deviation == pytest.approx(0.1)
    assert interval == pytest.approx((0.9 - 4.30265 * 0.1 / 3**0.5, 0.9 + 4.30265 * 0.1 / 3**0.5), abs=1e-5)


@given(st.lists(st.floats(0, 1), min_size=2, max_size=12))
def test_summaries_agree_with_numpy_and_scipy(values: list[float]) -> None:
    found = summarise(values)
    mean, deviation, interval = found.mean, found.deviation, found.interval
    assert mean == pytest.approx(np.mean(values))
    assert deviation == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    assert interval is not None
    half = stats.t.ppf(0.975, len(values) - 1) * stats.sem(values)
    assert interval[1] - interval[0] == pytest.approx(2 * half, abs=1e-9)


def test_one_seed_has_no_deviation_and_no_interval() -> None:
    assert summarise([0.7]) == OverSeeds(mean=0.7)


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_agrees_with_scipy(counts: tuple[int, int]) -> None:
    successes, trials = counts
    expected = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson_interval(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_what_cannot_be_summed_up_is_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        summarise([])
    with pytest.raises(ValueError, match="successes"):
        wilson_interval(3, 2)


@pytest.mark.parametrize(("area", "positives", "negatives"), [(0.8, 10, 15), (0.5, 3, 3), (0.97, 40, 200)])
def test_an_aucs_bounds_solve_newcombes_equation(area: float, positives: int, negatives: int) -> None:
    def equation(candidate: float) -> float:
        n = (positives + negatives) / 2 - 1
        spread = 1 + n * (1 - candidate) / (2 - candidate) + n * candidate / (1 + candidate)
        variance = candidate * (1 - candidate) * spread / (positives * negatives)
        return float((candidate - area) ** 2 - stats.norm.ppf(0.975) ** 2 * variance)

    expected = (optimize.brentq(equation, 1e-12, area), optimize.brentq(equation, area, 1 - 1e-12))
    assert auc_interval(area, positives, negatives) == pytest.approx(expected, abs=1e-9)


def test_an_aucs_interval_has_a_width_at_the_ends() -> None:
    low, high = auc_interval(1.0, 5, 5)
    assert 0.4 < low < 0.8
    assert high == 1.0
    assert auc_interval(0.0, 5, 5) == pytest.approx((0.0, 1.0 - low))
    with pytest.raises(ValueError, match="AUC"):
        auc_interval(1.1, 5, 5)
    with pytest.raises(ValueError, match="AUC"):
        auc_interval(0.5, 0, 5)


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.0])
def test_an_aucs_interval_covers_the_truth_about_95_times_in_100(shift: float) -> None:
    """Two normal distributions, whose AUC is Φ(shift / √2), ten samples of each."""
    rng, truth = np.random.default_rng(0), float(stats.norm.cdf(shift / 2**0.5))
    positive = np.repeat([False, True], 10)
    covered = 0
    for _ in range(1000):
        scores = rng.normal(size=20) + shift * positive
        low, high = auc_interval(auc(scores, positive), 10, 10)
        covered += low <= truth <= high
    assert 0.92 < covered / 1000 < 0.99


Sample = tuple[NDArray[np.float64], NDArray[np.bool_], NDArray[np.int64]]


def records_of_people(rng: np.random.Generator, shift: float, people: int = 120, records: int = 15) -> Sample:
    """Normal scores of several records of everybody, half of whose variance is the person's; who is positive,
    every second person, is ``shift`` deviations higher."""
    person = np.repeat(np.arange(people), records)
    positive = person % 2 == 0
    own, each = rng.normal(size=people)[person], rng.normal(size=len(person))
    return np.sqrt(0.5) * (own + each) + shift * positive, positive, person


@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_records_of_one_person_are_no_independent_witnesses(shift: float) -> None:
    """An interval that takes them for such misses the truth every second time; over people it is found 95
    times in 100."""
    rng, truth = np.random.default_rng(0), float(stats.norm.cdf(shift / 2**0.5))
    naive = clustered = 0
    for _ in range(300):
        scores, positive, person = records_of_people(rng, shift)
        low, high = separation(scores, positive).auc_interval
        naive += low <= truth <= high
        low, high = separation(scores, positive, person=person).auc_interval
        clustered += low <= truth <= high
    assert naive / 300 < 0.7
    assert 0.92 < clustered / 300 < 0.985


def test_an_interval_over_people_is_as_wide_as_the_bootstrap_over_people_has_it() -> None:
    rng = np.random.default_rng(1)
    scores, positive, person = records_of_people(rng, 1.0)
    of = [np.flatnonzero(person == each) for each in range(120)]
    drawn = []
    for _ in range(400):
        chosen = np.concatenate([rng.choice(np.arange(0, 120, 2), 60), rng.choice(np.arange(1, 120, 2), 60)])
        places = np.concatenate([of[each] for each in chosen])
        drawn.append(auc(scores[places], positive[places]))
    low, high = separation(scores, positive, person=person).auc_interval
    assert high - low == pytest.approx(2 * 1.96 * np.std(drawn), rel=0.15)


def test_records_that_are_all_alike_count_as_one_and_single_ones_as_themselves() -> None:
    rng = np.random.default_rng(2)
    person = np.repeat(np.arange(40), 5)
    positive = person < 16
    alike = rng.normal(size=40)[person]
    assert effective_counts(alike, positive, person)[:2] == pytest.approx((16, 24), rel=0.1)
    single = rng.normal(size=200)
    assert effective_counts(single, positive, np.arange(200))[:2] == pytest.approx((80, 120))
    assert effective_counts(single, positive, person)[:2] == pytest.approx((80, 120), rel=0.35)
    apart = positive + 0.1 * rng.random(200)  # an AUC of 1: of everybody no more is known than that
    *counts, freedom = effective_counts(apart, positive, person)
    # Nothing is known of either side's part of the error: each is half of it.
    assert (*counts, freedom) == pytest.approx((16, 24, 1 / (0.25 / 15 + 0.25 / 23)))
    left = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, freedom)) ** 2
    low, high = separation(apart, positive, person=person).auc_interval
    assert (low, high) == pytest.approx(auc_interval(1.0, 16 * left, 24 * left))
