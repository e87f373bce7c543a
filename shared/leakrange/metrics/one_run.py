"""Lower bounds of ε from one training, by canaries: records that each were trained on with a probability of
one half. One holds for every training (Steinke, Nasr and Jagielski 2023, arXiv 2305.08846); a tighter one
for those whose privacy is that of Gaussian noise (Mahloujifar, Melis and Chaudhuri 2024, arXiv 2410.22235).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.estimate import Estimate
from leakrange.metrics.membership import Separation, separation
from leakrange.metrics.registry import metric

__all__ = ["DELTA", "Canaries", "chance_of_guesses", "epsilon_of_gaussian_guesses", "epsilon_of_guesses"]

DELTA = 1e-5
LEVEL = 0.05
FEWEST = 20
"""The fewest canaries that a bound is computed of."""
FEWEST_GUESSES = 4
"""The fewest canaries that are guessed to be members; as many are guessed to be none."""
PRECISION = 1e-4
STEINKE = "Steinke, Nasr and Jagielski 2023, Theorem 5.2 and Appendix D"


def chance_of_guesses(correct: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """At most this is the probability that an (ε, δ)-differentially private training lets ``correct`` or more
    of so many ``guesses`` be right, about ``canaries`` that fair coins put into the training or left out.

    With δ = 0 the number of right guesses is at most binomial, each right with probability e^ε / (e^ε + 1);
    δ adds 2·m·δ·max_i P[v − i ≤ B < v] / i. Raises `ValueError` unless 0 ≤ correct ≤ guesses ≤ canaries.
    """
    from scipy.special import bdtr, bdtrc, expit  # here, since not all who import this module have SciPy

    if not 0 <= correct <= guesses <= canaries:
        raise ValueError("there are no more right guesses than guesses, and no more guesses than canaries")
    right = expit(epsilon)
    if not correct:
        return 1.0
    tail = float(bdtrc(correct - 1, guesses, right))
    steps = np.arange(1, correct + 1)
    below = 1.0 - tail - np.append(bdtr(correct - 1 - steps[:-1], guesses, right), 0.0)
    return min(tail + 2.0 * canaries * delta * float((below / steps).max()), 1.0)


def epsilon_of_guesses(
    correct: int, guesses: int, canaries: int, delta: float, level: float = LEVEL
) -> float:
    """The largest ε, to four digits, for which so many ``correct`` guesses have a chance below ``level``: a
    lower bound of a training's ε with a confidence of 1 − ``level``, for a number of guesses that was chosen
    beforehand. 0 where there is none. Raises as `chance_of_guesses` does."""
    return _largest(lambda epsilon: chance_of_guesses(correct, guesses, canaries, epsilon, delta) < level)


def epsilon_of_gaussian_guesses(
    correct: int, guesses: int, canaries: int, delta: float, level: float = LEVEL
) -> float:
    """The same for a training that is as private as one release with Gaussian noise is: the ε, for
    ``delta``, of the largest μ that so many ``correct`` guesses refute (Mahloujifar et al., Algorithm 3; μ is
    the largest move over the deviation of the noise). 0 where there is none."""
    from scipy.special import log_ndtr, ndtr, ndtri

    def refuted(mu: float) -> bool:
        right, wrong = level * correct / canaries, level * (guesses - correct) / canaries
        for place in range(correct - 1, -1, -1):
            least = max(wrong, float(ndtr(ndtri(right) - mu)))
            right += place / (guesses - place) * (least - wrong)
            wrong = least
        return right + wrong > guesses / canaries

    mu = _largest(refuted)
    if not mu:
        return 0.0
    return _largest(
        lambda e: ndtr(mu / 2 - e / mu) - np.exp(e + log_ndtr(-mu / 2 - e / mu)) > delta  # Dong et al. 2022
    )


def _largest(refuted: Callable[[float], bool]) -> float:
    """The largest value that is ``refuted``, where all smaller ones are, to four digits; 0 where none is."""
    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while refuted(high):
        low, high = high, 2.0 * high
    while high - low > PRECISION:
        middle = (low + high) / 2.0
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


class Bound(Protocol):
    """A lower bound of ε from right guesses, as `epsilon_of_guesses`."""

    def __call__(self, correct: int, guesses: int, canaries: int, delta: float, level: float, /) -> float:
        """See `epsilon_of_guesses`."""
        ...


@dataclass(frozen=True)
class Canaries:
    """Scores (N,) of canaries, higher meaning member, and whether a fair coin of its own put each into the
    training, ``truth`` (N,). ``promised`` is the ε that the training promises for ``delta``; None where it
    promises none."""

    scores: NDArray[np.floating]
    truth: NDArray[np.bool_]
    promised: float | None = None
    delta: float = DELTA

    @cached_property
    def epsilon(self) -> float | None:
        """The lower bound of the training's ε at 95 %; None of fewer than 20 canaries."""
        return self._bounded(epsilon_of_guesses)

    @cached_property
    def gaussian(self) -> float | None:
        """The same, if the training is as private as Gaussian noise makes it."""
        return self._bounded(epsilon_of_gaussian_guesses)

    def _bounded(self, bound: Bound) -> float | None:
        """The highest scores are guessed to be members, as many of the lowest to be none, and of the others
        nothing is said. How many is tried from all canaries down, each time half as many; each of these
        bounds has its part of the 5 %, so that the best of them holds at 95 %."""
        if len(self.scores) < FEWEST:
            return None
        ranked = self.truth[np.argsort(-self.scores, kind="stable")]
        sides = [len(ranked) // 2]
        while sides[-1] // 2 >= FEWEST_GUESSES:
            sides.append(sides[-1] // 2)
        right = [int(ranked[:side].sum() + (~ranked[-side:]).sum()) for side in sides]
        level = LEVEL / len(sides)
        return max(
            bound(correct, 2 * side, len(ranked), self.delta, level)
            for correct, side in zip(right, sides, strict=True)
        )

    @property
    def holds(self) -> float | None:
        """1 where both bounds are at most the promised ε, 0 where one is higher; None without a promise, or a
        bound."""
        if self.epsilon is None or self.gaussian is None or self.promised is None:
            return None
        return float(max(self.epsilon, self.gaussian) <= self.promised)

    @cached_property
    def separation(self) -> Separation | None:
        """How well the scores part them; None where all are members, or none is."""
        return separation(self.scores, self.truth) if 0 < self.truth.sum() < len(self.truth) else None

    def viewed(self, ledger: Mapping[str, float]) -> dict[str, Any]:
        """The view "promise" of a trial, in JSON's types, with the ``ledger`` of its training; empty where
        there is no bound."""
        if self.epsilon is None:
            return {}
        view = {"found": self.epsilon, "gaussian": self.gaussian, "promised": self.promised}
        view |= {"delta": self.delta, "canaries": len(self.truth)}
        return {"promise": view | {name: ledger.get(name) for name in ("noise", "rate", "steps")}}


metric(
    "epsilon_found", measures=Canaries, title="lower bound of ε", unit="number", role="leakage", rank=67,
    bound="epsilon_promised",
    equation=f"from guesses about canaries, at 95 %, for the δ that is promised or 1e-5 ({STEINKE})",
)(attrgetter("epsilon"))  # fmt: skip

metric(
    "epsilon_gaussian", measures=Canaries, title="lower bound of ε, if Gaussian", unit="number",
    role="leakage", rank=67, bound="epsilon_promised",
    equation="the same for a training that is as private as Gaussian noise makes it: about what DP-SGD of "
    "many steps is (Mahloujifar, Melis and Chaudhuri 2024, Algorithm 3)",
)(attrgetter("gaussian"))  # fmt: skip

metric(
    "epsilon_promised", measures=Canaries, title="promised ε", unit="number", role="context", rank=68,
    higher=False, equation="of the ledger of a training by DP-SGD",
    doubt="one of the 5 % of sound trainings in which such a lower bound is too high",
)(attrgetter("promised"))  # fmt: skip


metric(
    "promise_holds", measures=Canaries, title="promise holds", unit="share", role="context", rank=69,
    equation="1 where both lower bounds of ε are at most the promised ε, else 0: the promise is broken",
)(attrgetter("holds"))  # fmt: skip


@metric(
    "exposed_auc", measures=Canaries, title="AUC on canaries", unit="score", role="leakage", rank=70,
    chance=0.5, interval="over canaries (Newcombe, method 5)",
    equation="AUC on the records that stand out most (Aerni et al. 2024)",
)  # fmt: skip
def _exposed(canaries: Canaries) -> Estimate | None:
    separated = canaries.separation
    return None if separated is None else Estimate.within(separated.auc, separated.auc_interval)


@metric(
    "exposed_tpr_at_001", measures=Canaries, title="TPR at 1 % FPR on canaries", unit="share",
    role="leakage", rank=71, chance=0.01, beside="exposed_auc",
    takes="100 canaries or more that were not trained on",
    equation="members found at a false positive rate of 1 %, among the records that stand out most "
    "(Aerni et al. 2024)",
)  # fmt: skip
def _exposed_at_001(canaries: Canaries) -> float | None:
    return None if canaries.separation is None else canaries.separation.tpr_at_001
