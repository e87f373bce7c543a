"""Uncertainty about an attribute that a release leaves, and the accuracy that anybody can then reach.

TAPPFL, Theorem 2, bounds the accuracy of every adversary by the equivocation H(u|r). That cannot be measured:
the uncertainty that an attack's scores leave is at least H(u|r) on average, so a bound made from it is no
guarantee. The bound holds for everybody who makes no more of a release than the attack does. An attack that
is right more often than its own bound shows a bug, or scores that say less than its guesses.
"""

from __future__ import annotations

import math

from leakrange.metrics.entropy import joint_entropy
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.intervals import Z95
from leakrange.metrics.outcomes import Ranking
from leakrange.metrics.registry import metric

__all__ = ["FEWEST", "accuracy_bound", "equivocation", "fewest_errors", "loose_accuracy_bound"]

FEWEST = 40
"""Smallest number of samples of which an equivocation is estimated."""
STEPS = 60
"""Steps of a bisection that reach the last digit of a float."""


def fewest_errors(bits: float, classes: int = 2) -> float:
    """The least share of errors that an equivocation H(u|r) of ``bits`` leaves to anybody, in [0, 1 − 1/k].

    Fano's inequality, H(u|r) ≤ H₂(e) + e·log₂(k − 1), solved for e; of two classes it is H₂⁻¹(H(u|r))
    (TAPPFL, Eq. 22). For more classes TAPPFL's proof does not hold: a wrong guess does not tell which class
    is right (Eq. 18). ``bits`` beyond log₂ k count as that. Raises `ValueError` for negative bits, or fewer
    than two classes.
    """
    if not bits >= 0.0 or classes < 2:
        raise ValueError(f"{bits} bits about {classes} classes: neither is possible")

    def most_left(errors: float) -> float:
        """The equivocation that so many errors allow; grows over [0, 1 − 1/k]."""
        right = 1.0 - errors
        unsure = -sum(share * math.log2(share) for share in (errors, right) if share > 0.0)
        return unsure + errors * math.log2(classes - 1)

    low, high = 0.0, 1.0 - 1.0 / classes
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if most_left(middle) < bits else (low, middle)
    return high


def accuracy_bound(bits: float, classes: int = 2) -> float:
    """The highest accuracy in [1/k, 1] that anybody can reach who is left with an equivocation of ``bits``:
    TAPPFL's Theorem 2 without the loss of Lemma 4, see `fewest_errors`."""
    return 1.0 - fewest_errors(bits, classes)


def loose_accuracy_bound(bits: float) -> float:
    """The bound for two classes as TAPPFL prints it, 1 − H/(2·log₂(6/H)) (Theorem 2). It is never below
    `accuracy_bound`, and .807 where nothing is known. ``bits`` are at most 1 there. Raises `ValueError` for
    negative ones."""
    if not bits >= 0.0:
        raise ValueError(f"an equivocation of {bits} bits is not possible")
    bits = min(bits, 1.0)
    return 1.0 if bits == 0.0 else 1.0 - bits / (2.0 * math.log2(6.0 / bits))


def equivocation(ranking: Ranking) -> Estimate | None:
    """The equivocation in bits, 0 to log₂ of the classes. None where samples are few or resemble each other,
    or where there is not a score for each class."""
    of_classes = ranking.scores.ndim == 2 and ranking.scores.shape[1] > 1
    if not of_classes or ranking.group is not None or len(ranking.truth) < FEWEST:
        return None
    bits, highest = ranking.surprise, joint_entropy(ranking.truth.astype(int)) / math.log(2.0)
    half = Z95 * float(bits.std(ddof=1)) / math.sqrt(len(bits))
    mean = float(bits.mean())
    low, high = (min(max(end, 0.0), highest) for end in (mean - half, mean + half))
    return Estimate.within(min(mean, highest), (low, high))


metric(
    "equivocation", measures=Ranking, title="equivocation, at most", unit="bits", role="context", rank=56,
    interval="over samples (normal)",
    equation="H(u|r): mean of −log₂ q(u|r), by the attack’s scores calibrated on the other half of the "
    "samples; at most H(u) (TAPPFL, Theorem 2)",
)(equivocation)  # fmt: skip


@metric(
    "accuracy_bound", measures=Ranking, title="bound of accuracy", unit="share", role="context", rank=57,
    interval="over samples, as that of the equivocation", doubt="an estimate of H(u|r) that is too high",
    equation="1 − H₂⁻¹(H(u|r)), of more than two classes by Fano’s inequality (TAPPFL, Theorem 2 without "
    "Lemma 4); of whoever makes no more of releases than this attack",
)  # fmt: skip
def _accuracy_bound(ranking: Ranking) -> Estimate | None:
    bits, classes = equivocation(ranking), ranking.scores.shape[-1]
    if bits is None or bits.low is None or bits.high is None:
        return None
    bounds = accuracy_bound(bits.high, classes), accuracy_bound(bits.low, classes)
    return Estimate.within(accuracy_bound(bits.value, classes), bounds)


@metric(
    "loose_accuracy_bound", measures=Ranking, title="bound of accuracy, as printed", unit="share",
    role="context", rank=58,
    equation="1 − H(u|r) / (2·log₂(6/H(u|r))), of two classes (TAPPFL, Theorem 2)",
)  # fmt: skip
def _loose_accuracy_bound(ranking: Ranking) -> float | None:
    bits = equivocation(ranking)
    return None if bits is None or ranking.scores.shape[1] != 2 else loose_accuracy_bound(bits.value)
