"""Statistics and detection, against cases worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import softmax as scipy_softmax
from scipy.stats import entropy as scipy_entropy

from leakrange.audit import EntropyStatistics, detection, entropy_excess, entropy_statistics
from leakrange.wire.errors import InvalidInput

SURE, TORN, SPREAD = [1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [1 / 3, 1 / 3, 1 / 3]
"""0 bits, 1 bit, log2 3 = 1.585 bits."""


def model(*bits: float) -> EntropyStatistics:
    """Of a binary classifier with outputs of those entropies."""
    outputs = []
    for wanted in bits:
        low, high = 0.5, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            entropy = -sum(p * math.log2(p) for p in (middle, 1 - middle) if p > 0)
            low, high = (middle, high) if entropy > wanted else (low, middle)
        outputs.append([high, 1 - high])
    return entropy_statistics(np.array(outputs))


def test_statistics_of_five_outputs() -> None:
    found = entropy_statistics(np.array([SURE, TORN, SPREAD, SURE, SPREAD]))
    most = math.log2(3)
    assert (found.samples, found.most) == (5, pytest.approx(most))
    assert found.mean == pytest.approx((1 + 2 * most) / 5)
    # Ordered 0, 0, 1, 1.585, 1.585: the 5 % quantile lies a fifth of a step behind the first.
    assert found.quantiles == {
        0.05: 0.0,
        0.25: 0.0,
        0.5: pytest.approx(1.0),
        0.75: pytest.approx(most),
        0.95: pytest.approx(most),
    }
    assert found.above_one_bit == pytest.approx(2 / 5)  # one bit is not more than one bit
    kinds = ("mean", "median", "upper", "above_one_bit")
    assert [found.score(kind) for kind in kinds] == [found.mean, 1.0, pytest.approx(most), 2 / 5]


def test_logits_are_put_through_softmax() -> None:
    soft = np.random.default_rng(0).dirichlet([1, 1, 1], size=50)
    logits = np.log(soft) + np.random.default_rng(1).normal(size=(50, 1))
    assert entropy_statistics(logits, "logits").mean == pytest.approx(entropy_statistics(soft).mean)
    huge = entropy_statistics(np.array([[1000.0, 0.0], [1000.0, 1000.0]]), "logits")
    assert (huge.mean, huge.above_one_bit) == (0.5, 0.0)


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        (np.zeros((0, 3)), "samples, classes"),
        (np.array([0.5, 0.5]), "samples, classes"),
        (np.array([[1.0]]), "samples, classes"),
        (np.array([[np.nan, 1.0]]), "not finite"),
        (np.array([[3.0, -2.0]]), "adding up to 1"),
    ],
)
def test_what_has_no_entropy_is_refused(outputs: np.ndarray, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        entropy_statistics(outputs)


def test_detection_counts_the_pairs_in_their_order() -> None:
    honest, curious = [model(0.1), model(0.3), model(0.5)], [model(0.3), model(0.9)]
    # Of six pairs the curious model is above in 1 + 3, level in 1.
    found = detection(honest, curious)
    assert found.auc == pytest.approx(4.5 / 6)
    assert found.unsigned == found.auc
    assert (found.honest, found.curious) == (3, 2)
    low, high = found.interval
    assert low < 0.5 < found.auc < high  # five models prove nothing
    # Curious models whose entropy is lower (β^x > 0) are told apart as well, if one knows the direction.
    turned = detection(curious, honest)
    assert turned.auc == pytest.approx(1.5 / 6)
    assert turned.unsigned == pytest.approx(4.5 / 6)


def test_the_statistic_is_the_callers_choice() -> None:
    """Means alike, tails not: a curious model is torn now and then, an honest one a little always."""
    honest, curious = [model(*[0.2] * 10)] * 3, [model(*[0.0] * 9, 0.99)] * 3
    assert detection(honest, curious, "mean").auc == 0.0
    assert detection(honest, curious, "upper").auc == 1.0
    assert detection(honest, curious, "median").auc == 0.0


def test_populations_that_cannot_be_compared_are_refused() -> None:
    with pytest.raises(InvalidInput, match="1 honest, 0 curious"):
        detection([model(0.1)], [])
    three = entropy_statistics(np.array([SPREAD]))
    with pytest.raises(InvalidInput, match="different numbers of classes"):
        detection([model(0.1)], [three])


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
