"""The excess of entropy, against cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax as scipy_softmax
from scipy.stats import entropy as scipy_entropy

from leakrange.audit import entropy_excess
from leakrange.wire.errors import InvalidInput


def test_a_calibrated_model_has_no_excess() -> None:
    # Says 75 % of every sample, and is right about three of four: 0.811 bits either way.
    logits = np.tile([math.log(3.0), 0.0], (8, 1)) + np.arange(8)[:, None]
    found = entropy_excess(logits, np.array([0, 0, 1, 0, 0, 0, 1, 0]))
    assert found.entropy == pytest.approx(0.8112781)
    assert found.cross_entropy == pytest.approx(0.8112781)
    assert found.excess == pytest.approx(0.0, abs=1e-12)
    assert found.interval[0] < 0.0 < found.interval[1]
    # It is right more often than it says: it is less sure than its mistakes call for.
    surer = entropy_excess(logits, np.zeros(8, dtype=np.int64))
    assert surer.excess == pytest.approx(0.8112781 - math.log2(4 / 3))


def test_the_excess_agrees_with_scipy_and_adds_up_over_heads() -> None:
    rng = np.random.default_rng(2)
    logits, labels = (
        rng.normal(size=(30, 5)) * 3,
        np.stack([rng.integers(0, 2, 30), rng.integers(0, 3, 30)], 1),
    )
    found = entropy_excess(logits, labels, (2, 3))
    parts = [scipy_softmax(part, axis=1) for part in (logits[:, :2], logits[:, 2:])]
    entropies = sum(scipy_entropy(part, base=2, axis=1) for part in parts)
    losses = sum(-np.log2(part[np.arange(30), own]) for part, own in zip(parts, labels.T, strict=True))
    assert found.entropy == pytest.approx(entropies.mean())
    assert found.cross_entropy == pytest.approx(losses.mean())
    low, high = stats.ttest_1samp(entropies - losses, 0.0).confidence_interval()
    assert found.interval == (pytest.approx(low), pytest.approx(high))
    assert np.isfinite(entropy_excess(np.array([[1e4, 0.0], [0.0, 1e4]]), np.array([0, 0])).excess)


def test_labels_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"0\.\.1"):
        entropy_excess(np.zeros((3, 2)), np.array([0, 2, 1]))
    with pytest.raises(InvalidInput, match="heads"):
        entropy_excess(np.zeros((3, 4)), np.array([0, 1, 1]), (2, 2))
