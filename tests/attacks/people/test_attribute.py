"""Attribute inference from few records: more records help, nothing comes of nothing, people stay apart."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks.people.attribute import (
    attribute_scores,
    auxiliary_curve,
    reference_curve,
)
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput


def records(
    count: int, strength: float = 1.0, width: int = 16, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Releases with an attribute in one direction of many."""
    rng = np.random.default_rng(seed)
    labels = rng.random(count) < 0.5
    releases = rng.normal(size=(count, width)) * np.arange(1, width + 1)
    releases += strength * np.where(labels, 1, -1)[:, None] * np.arange(1, width + 1) / 2
    return releases, labels


def test_more_auxiliary_records_tell_more_up_to_what_a_line_can() -> None:
    pool, labels = records(500, 0.6)
    target, truth = records(400, 0.6, seed=1)
    curve = auxiliary_curve(pool, labels, target, truth, draws=4)
    assert [point.size for point in curve] == [10, 30, 50, 100, 400]
    means = [point.mean for point in curve]
    assert 0.6 < means[0] < means[2] < means[4]
    assert means[4] > 0.93  # Φ(0.3·4·√2) = .955 is the best
    for point in curve:
        assert len(point.aucs) == 4
        assert point.mean == pytest.approx(np.mean(point.aucs))
        assert point.deviation == pytest.approx(np.std(point.aucs, ddof=1))


def test_releases_that_tell_nothing_give_one_half_at_every_size() -> None:
    pool, labels = records(300, 0.0)
    target, truth = records(400, 0.0, seed=1)
    for point in auxiliary_curve(pool, labels, target, truth, sizes=(10, 100), draws=6):
        assert point.mean == pytest.approx(0.5, abs=0.06)


def test_the_smallest_choice_has_both_labels_even_of_a_rare_attribute() -> None:
    pool, _ = records(300)
    rare = np.arange(300) < 6
    target, truth = records(50, seed=1)
    curve = auxiliary_curve(pool, rare, target, truth, sizes=(2, 10, 1000), draws=3)
    assert [point.size for point in curve] == [2, 10]
    with pytest.raises(InvalidInput, match="both labels"):
        auxiliary_curve(pool, np.zeros(300, dtype=bool), target, truth)
    with pytest.raises(InvalidInput, match="either label"):
        auxiliary_curve(pool, rare, target, truth, sizes=(1, 10))


def test_a_target_set_is_only_measured_on() -> None:
    """The same target records get the same scores whatever stands beside them and whatever they are."""
    pool, labels = records(120)
    target, _ = records(40, seed=1)
    alone = attribute_scores(pool, labels, target[:5])
    np.testing.assert_allclose(attribute_scores(pool, labels, target)[:5], alone)


def test_distances_to_more_references_tell_more() -> None:
    rng = np.random.default_rng(0)
    releases, labels = records(400, 0.5)
    references = rng.normal(size=(20, 16)) * np.arange(1, 17) * 2
    distances = np.linalg.norm(releases[:, None] - references, axis=2)
    curve = reference_curve(
        distances[:200], labels[:200], distances[200:], labels[200:], counts=(1, 5, 20, 50)
    )
    assert [point.size for point in curve] == [1, 5, 20]
    assert curve[0].mean < curve[1].mean < curve[2].mean
    whole = attribute_scores(distances[:200], labels[:200], distances[200:])
    assert curve[2].mean == pytest.approx(auc(whole, labels[200:]), abs=1e-6)
