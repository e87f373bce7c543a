"""Attribute inference from few records: more records help, nothing comes of nothing, people stay apart."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks.people.linear import attribute_scores
from leakrange.metrics import auc


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
    reached = [auc(attribute_scores(pool[:n], labels[:n], target), truth) for n in (10, 50, 400)]
    assert 0.6 < reached[0] < reached[1] < reached[2]
    assert reached[2] > 0.93  # Φ(0.3·4·√2) = .955 is the best


def test_releases_that_tell_nothing_give_one_half() -> None:
    pool, labels = records(300, 0.0)
    target, truth = records(400, 0.0, seed=1)
    assert auc(attribute_scores(pool, labels, target), truth) == pytest.approx(0.5, abs=0.06)


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
    reached = [
        auc(attribute_scores(distances[:200, :count], labels[:200], distances[200:, :count]), labels[200:])
        for count in (1, 5, 20)
    ]
    assert reached[0] < reached[1] < reached[2]
