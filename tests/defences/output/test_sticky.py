"""Sticky noise: its laws, its independence, and that it stays as it is from version to version."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from leakrange.defences.output import Chain, ReleaseContext

LAWS = pytest.mark.parametrize(("kind", "law"), [("gaussian", stats.norm), ("laplace", stats.laplace)])

MOMENTS = {"gaussian": {2: 1, 4: 3, 6: 15, 8: 105}, "laplace": {2: 2, 4: 24, 6: 720, 8: 40320}}
"""The even moments; the odd ones are 0."""


def noise(
    kind: str, rows: int, width: int, stages: int = 1, first: int = 0, key: bytes = b"a secret of tests"
) -> NDArray[np.float32]:
    """The noise of ``stages`` stages of scale 1 on zeros, of queries numbered from ``first`` on."""
    digests = [hashlib.sha256(str(first + row).encode()).digest() for row in range(rows)]
    chain = Chain.parse([{"noise": {"kind": kind, "scale": 1.0, "sticky": True}}] * stages)
    context = ReleaseContext(release="features", sticky_key=key, digests=digests)
    return chain.apply(np.zeros((rows, width), np.float32), context)


@LAWS
@pytest.mark.parametrize("width", [1, 7, 10])
def test_every_value_of_a_sample_follows_the_law(kind: str, law: Any, width: int) -> None:
    drawn = noise(kind, 6000, width).astype(float)
    for column in drawn.T:
        assert stats.kstest(column, law.cdf).pvalue > 1e-4
    every = drawn.ravel()
    count = len(every)
    # Each moment within four deviations of its estimate.
    for power in (1, 2, 3, 4):
        wanted = MOMENTS[kind].get(power, 0)
        spread = np.sqrt(MOMENTS[kind][2 * power] - wanted**2)
        assert abs((every**power).mean() - wanted) < 4 * spread / np.sqrt(count), power


@LAWS
def test_tails_are_those_of_the_law(kind: str, law: Any) -> None:
    drawn = np.abs(noise(kind, 20_000, 10).ravel())
    beyond = 2 * law.sf(4.0)
    counted, wanted = int((drawn > 4.0).sum()), beyond * len(drawn)
    assert abs(counted - wanted) < 4 * np.sqrt(wanted)


@LAWS
def test_values_tell_nothing_of_each_other(kind: str, law: Any) -> None:
    drawn = noise(kind, 20_000, 6).astype(float)
    ranks = np.apply_along_axis(stats.rankdata, 0, drawn)
    limit = 4.5 / np.sqrt(len(drawn))
    # The signs, the sizes and both of any two values of a sample; Box and Muller's pairs among them.
    for told in (ranks, np.apply_along_axis(stats.rankdata, 0, np.abs(drawn))):
        assert np.abs(np.corrcoef(told.T) - np.eye(6)).max() < limit
    # One sample and the next.
    assert abs(np.corrcoef(drawn[:-1, 0], drawn[1:, 0])[0, 1]) < limit


@LAWS
def test_stages_keys_and_queries_draw_apart(kind: str, law: Any) -> None:
    one, both = noise(kind, 5000, 4), noise(kind, 5000, 4, stages=2)
    other_key, others = noise(kind, 5000, 4, key=b"another secret"), noise(kind, 5000, 4, first=5000)
    limit = 4.5 / np.sqrt(one.size)
    for other in (other_key, others):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < limit
    # A second stage adds as much variance again: were its noise the first one's, it would be four times it.
    assert both.var() == pytest.approx(2 * law.var(), rel=0.06)
    assert abs(np.corrcoef(one.ravel(), both.ravel())[0, 1]) < limit  # the policy is another one


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
@pytest.mark.parametrize("width", [1, 5, 33])
def test_a_sample_has_its_noise_wherever_it_stands(kind: str, width: int) -> None:
    together = noise(kind, 300, width)
    for first in (0, 1, 7, 255, 299):
        np.testing.assert_array_equal(noise(kind, 1, width, first=first)[0], together[first])


def test_the_noise_of_a_shape_is_that_of_its_values() -> None:
    flat = noise("gaussian", 3, 24)
    digests = [hashlib.sha256(str(row).encode()).digest() for row in range(3)]
    chain = Chain.parse([{"noise": {"scale": 1.0, "sticky": True}}])
    context = ReleaseContext(release="sample", sticky_key=b"a secret of tests", digests=digests)
    shaped = chain.apply(np.zeros((3, 2, 3, 4), np.float32), context)
    np.testing.assert_array_equal(shaped.reshape(3, 24), flat)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("gaussian", [-1.02531374, 0.14379127, 1.23089516]),
        ("laplace", [0.67850566, -2.08614206, -0.91503495]),
    ],
)
def test_the_noise_of_a_query_stays(kind: str, wanted: list[float]) -> None:
    """A change of these values gives every query a second draw, by which old answers average: say so in the
    changelog."""
    np.testing.assert_allclose(noise(kind, 1, 3)[0], wanted, rtol=1e-6)
