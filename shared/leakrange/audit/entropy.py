"""Entropy as a ground for suspicion (HBC Section 5.6, Fig. 8; Section 6.3; VICIOUS Appendix C): a classifier
that hides something in its outputs tends to be less sure of them than a standard one, unless it was trained
not to be (β^x > 0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import auc, auc_interval, entropy_bits, mean_interval, softmax
from leakrange.wire.errors import InvalidInput
from leakrange.wire.heads import parted

__all__ = [
    "QUANTILES",
    "Detection",
    "EntropyExcess",
    "EntropyStatistics",
    "Score",
    "detection",
    "entropy_excess",
    "entropy_statistics",
]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)

Score = Literal["mean", "median", "upper", "above_one_bit"]
"""Statistic that serves as the suspicion score: ``upper`` is the 95 % quantile."""


@dataclass(frozen=True)
class EntropyStatistics:
    """Distribution of the entropies of one model's outputs, in bits: 0 to ``most`` = log2(classes).

    ``quantiles`` maps each of `QUANTILES` to its value; ``above_one_bit`` is the share of outputs of more
    than 1 bit, in [0, 1] and always 0 for two classes; ``samples`` is their number.
    """

    samples: int
    most: float
    mean: float
    quantiles: Mapping[float, float]
    above_one_bit: float

    def score(self, kind: Score = "mean") -> float:
        """Suspicion score of the model: the higher, the more suspicious."""
        if kind == "mean":
            return self.mean
        if kind == "above_one_bit":
            return self.above_one_bit
        return self.quantiles[0.5 if kind == "median" else 0.95]


def entropy_statistics(
    outputs: NDArray[np.floating], kind: Literal["logits", "softmax"] = "softmax"
) -> EntropyStatistics:
    """Statistics of a model's ``outputs`` (N, Y), whose entropies are those of their softmax.

    Quantiles are interpolated linearly between samples. Raises `InvalidInput` for another shape, no samples,
    values that are not finite, or rows that are no softmax although they are said to be.
    """
    values = np.asarray(outputs, dtype=np.float64)
    if values.ndim != 2 or not len(values) or values.shape[1] < 2:
        raise InvalidInput(f"entropies are those of outputs (samples, classes), not of {values.shape}")
    if not np.isfinite(values).all():
        raise InvalidInput("an output holds values that are not finite")
    if kind == "logits":
        values = softmax(values)
    try:
        bits = entropy_bits(values)
    except ValueError as e:
        raise InvalidInput(str(e), hint="say that they are logits, or leave defences off") from e
    quantiles = np.quantile(bits, QUANTILES)
    return EntropyStatistics(
        samples=len(bits),
        most=float(np.log2(values.shape[1])),
        mean=float(bits.mean()),
        quantiles={each: float(value) for each, value in zip(QUANTILES, quantiles, strict=True)},
        # Rounding must not make a uniform pair more than the bit that it has.
        above_one_bit=float((bits > 1.0 + 1e-9).mean()),
    )


@dataclass(frozen=True)
class Detection:
    """Separation of curious models from honest ones by a score.

    ``auc`` in [0, 1]: the probability that a curious model has the higher score; ``interval`` is its 95 %
    interval. ``unsigned`` is max(auc, 1 − auc), the best that an examiner who does not know the direction
    could reach. Over few models the interval is wide, and ``unsigned`` is above .5 by chance.
    """

    auc: float
    interval: tuple[float, float]
    unsigned: float
    honest: int
    curious: int


def detection(
    honest: Sequence[EntropyStatistics], curious: Sequence[EntropyStatistics], kind: Score = "mean"
) -> Detection:
    """Detection of the ``curious`` models among the ``honest`` ones of a population by their suspicion score.

    Compare models of the same number of classes: the range of entropies depends on it. Raises `InvalidInput`
    for a population without both, or of models that differ in their classes.
    """
    if not honest or not curious:
        raise InvalidInput(
            f"telling two kinds of models apart needs both: {len(honest)} honest, {len(curious)} curious"
        )
    if len({each.most for each in (*honest, *curious)}) > 1:
        raise InvalidInput("models of different numbers of classes have entropies that cannot be compared")
    scores = np.array([each.score(kind) for each in (*honest, *curious)])
    positive = np.repeat([False, True], [len(honest), len(curious)])
    area = auc(scores, positive)
    return Detection(
        auc=area,
        interval=auc_interval(area, len(curious), len(honest)),
        unsigned=max(area, 1.0 - area),
        honest=len(honest),
        curious=len(curious),
    )


@dataclass(frozen=True)
class EntropyExcess:
    """Excess of a model's uncertainty over the one that its own mistakes call for, in bits.

    ``entropy`` is the mean H(ŷ), ``cross_entropy`` the mean H_y(ŷ) with the true labels, ``excess`` their
    difference, with its 95 % ``interval`` over the samples.
    """

    entropy: float
    cross_entropy: float
    excess: float
    interval: tuple[float, float]
    samples: int


def entropy_excess(
    logits: NDArray[np.floating],
    labels: NDArray[np.integer],
    heads: Sequence[int] = (),
    group: NDArray[np.integer] | None = None,
) -> EntropyExcess:
    """H(ŷ) − H_y(ŷ), which a vicious provider maximises (VICIOUS Eq. 13 with β = 1), of ``logits`` (M, N) and
    ``labels`` (M,). With several ``heads`` labels are (M, heads), and the heads' entropies are added up.
    ``group`` (M,) names the group of samples that resemble each other; the interval is then over groups.

    The reference is the model itself: the expected entropy of a model that is honest about how often it errs
    is its cross-entropy, so that 0 is expected. Overconfident models, as most nets are, lie below 0. Raises
    `InvalidInput` for fewer than two samples or groups, or labels that do not fit.
    """
    sizes = tuple(heads) or (logits.shape[1],)
    truth = np.asarray(labels).reshape(len(labels), -1)
    if len(logits) < 2 or truth.shape != (len(logits), len(sizes)):
        raise InvalidInput(f"outputs {logits.shape} and labels {labels.shape} do not fit {len(sizes)} heads")
    entropies, losses = np.zeros(len(logits)), np.zeros(len(logits))
    for head, of_head in zip(parted(np.asarray(logits, dtype=np.float64), sizes), truth.T, strict=True):
        if of_head.min() < 0 or of_head.max() >= head.shape[1]:
            raise InvalidInput(f"labels lie in 0..{head.shape[1] - 1}; leave unknown ones out")
        top = head - head.max(axis=1, keepdims=True)
        logs = (top - np.log(np.exp(top).sum(axis=1, keepdims=True))) / np.log(2.0)
        entropies -= (np.exp2(logs) * logs).sum(axis=1)
        losses -= logs[np.arange(len(of_head)), of_head]
    excesses = entropies - losses
    interval = mean_interval(excesses, group)
    if interval is None:
        raise InvalidInput("all samples are of one person: nothing is known of others")
    return EntropyExcess(
        entropy=float(entropies.mean()),
        cross_entropy=float(losses.mean()),
        excess=float(excesses.mean()),
        interval=interval,
        samples=len(excesses),
    )
