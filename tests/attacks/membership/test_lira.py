"""LiRA against SciPy's normal distribution, fitted record by record."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm, rankdata

from leakrange.attacks.membership.shadows import ENOUGH, lira_offline, lira_online
from leakrange.wire.errors import InvalidInput

Scores = NDArray[np.float64]

RNG = np.random.default_rng(1)
K, Q, N = 10, 2, 30
MEMBERS = np.repeat(np.arange(K) % 2 == 0, N).reshape(K, N) ^ (RNG.random(N) < 0.5)
SHADOWS = RNG.normal(size=(K, Q, N)) + 2.0 * MEMBERS[:, np.newaxis]
OBSERVED = RNG.normal(scale=2.0, size=(Q, N))


def test_online_is_the_likelihood_ratio_of_two_normals_per_record() -> None:
    expected = np.zeros(N)
    for record in range(N):
        for query in range(Q):
            phi, inside = SHADOWS[:, query, record], MEMBERS[:, record]
            for part, sign in ((phi[inside], 1), (phi[~inside], -1)):
                density = norm.logpdf(OBSERVED[query, record], part.mean(), part.std(ddof=1))
                expected[record] += sign * density
    np.testing.assert_allclose(lira_online(OBSERVED, SHADOWS, MEMBERS, "record"), expected)


def test_pooled_variance_is_that_around_each_records_own_mean() -> None:
    residuals: dict[bool, list[list[float]]] = {True: [[], []], False: [[], []]}
    means = np.zeros((2, Q, N))
    for record in range(N):
        for query in range(Q):
            for side in (True, False):
                part = SHADOWS[MEMBERS[:, record] == side, query, record]
                means[int(side), query, record] = part.mean()
                residuals[side][query] += list(part - part.mean())
    expected = np.zeros(N)
    for query in range(Q):
        for side, sign in ((True, 1), (False, -1)):
            squares = np.square(residuals[side][query]).sum()
            deviation = np.sqrt(squares / (len(residuals[side][query]) - N))
            expected += sign * norm.logpdf(OBSERVED[query], means[int(side), query], deviation)
    np.testing.assert_allclose(lira_online(OBSERVED, SHADOWS, MEMBERS, "pooled"), expected)
    np.testing.assert_allclose(lira_online(OBSERVED, SHADOWS, MEMBERS, "auto"), expected)  # ten are few


def test_offline_orders_a_query_as_the_tail_of_the_out_models_does() -> None:
    tail = np.empty(N)
    for record in range(N):
        part = SHADOWS[~MEMBERS[:, record], 0, record]
        tail[record] = norm.cdf(OBSERVED[0, record], part.mean(), part.std(ddof=1))
    found = lira_offline(OBSERVED[:1], SHADOWS[:, :1], MEMBERS, "record")
    np.testing.assert_allclose(norm.cdf(found), tail)


def test_one_shadow_on_either_side_orders_by_the_difference() -> None:
    members = np.array([[True, False, True], [False, True, False]])
    shadows = np.array([[[9.0, 1.0, 9.0]], [[2.0, 9.0, 4.0]]])
    found = lira_offline(np.array([[5.0, 3.0, 4.5]]), shadows, members)
    assert rankdata(found).tolist() == [3, 2, 1]  # 5 - 2 = 3, 3 - 1 = 2, 4.5 - 4 = .5


def test_records_that_all_shadows_or_none_have_seen_are_refused() -> None:
    members = MEMBERS.copy()
    members[:, 3] = True
    for attack in (lira_online, lira_offline):
        with pytest.raises(InvalidInput, match="same side"):
            attack(OBSERVED, SHADOWS, members)
    with pytest.raises(InvalidInput, match="two shadow models"):
        lira_online(OBSERVED, SHADOWS[:2], MEMBERS[:2], "record")


@pytest.mark.parametrize("attack", [lira_online, lira_offline])
def test_with_many_shadows_each_records_own_variance_is_trusted(attack: Callable[..., Scores]) -> None:
    """Records whose models agree and such whose models do not: one deviation for all would misjudge both."""
    members = np.repeat(np.arange(ENOUGH) % 2 == 0, N).reshape(ENOUGH, N)
    spread = np.where(np.arange(N) % 2, 0.1, 3.0)
    shadows = RNG.normal(size=(ENOUGH, Q, N)) * spread + 2.0 * members[:, np.newaxis]
    own, pooled = (attack(OBSERVED, shadows, members, kind) for kind in ("record", "pooled"))
    assert np.abs(own - pooled).max() > 1.0
    np.testing.assert_array_equal(attack(OBSERVED, shadows, members, "auto"), own)
    fewer = attack(OBSERVED, shadows[:-1], members[:-1], "auto")
    np.testing.assert_array_equal(fewer, attack(OBSERVED, shadows[:-1], members[:-1], "pooled"))


def test_offline_averages_what_all_queries_of_a_record_tell() -> None:
    """By hand: out models at 0 and 2 (mean 1, deviation √2) for either query; the target at 2, then at 5."""
    members = np.zeros((2, 1), dtype=bool)
    shadows = np.array([[[0.0], [0.0]], [[2.0], [2.0]]])
    observed = np.array([[2.0], [5.0]])
    found = lira_offline(observed, shadows, members, "record")
    np.testing.assert_allclose(found, [(1.0 + 4.0) / 2 / np.sqrt(2)])
