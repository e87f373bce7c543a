"""The least cost to a task of a representation that hides an attribute (TAPPFL, Theorem 1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.outcomes import Guesses
from leakrange.metrics.registry import metric

__all__ = ["Represented", "advantage", "conditional_errors", "dependence", "error_floor"]


def advantage(guessed: NDArray[np.integer], truth: NDArray[np.integer]) -> float | None:
    """Difference in [0, 1] between how often a class is guessed where it is true and where it is not: |Pr(A =
    a|u = a) − Pr(A = a|u ≠ a)| (TAPPFL, Eq. 8). Of two classes, 0 and 1, it is the same for both.

    guessed, truth: (V,). None where all are of one class.
    """
    return dependence(guessed, truth)


def dependence(target: NDArray[np.integer], hidden: NDArray[np.integer]) -> float | None:
    """Dependence of a task of two classes on a hidden attribute of two: |Pr(y = 1|u = 0) − Pr(y = 1|u = 1)|,
    in [0, 1] (TAPPFL, Theorem 1, Δ).

    target, hidden: (V,), 0 or 1. None where all are of one hidden class. Raises `ValueError` for other
    classes.
    """
    if target.shape != hidden.shape or not all(np.isin(each, (0, 1)).all() for each in (target, hidden)):
        raise ValueError("two columns of one length are needed, of classes 0 and 1")
    if not 0 < hidden.sum() < len(hidden):
        return None
    return float(abs(target[hidden == 1].mean() - target[hidden == 0].mean()))


def conditional_errors(
    decided: NDArray[np.floating] | NDArray[np.integer],
    target: NDArray[np.integer],
    hidden: NDArray[np.integer],
) -> float | None:
    """Σ over a of E[|y − c| | u = a], in [0, 2]: the error of Theorem 1 of TAPPFL, a sum and not a mean.

    target, hidden: (V,), 0 or 1. decided: (V,), probabilities of class 1, or decisions; of decisions it is
    the sum of both groups' shares of errors. None where all are of one hidden class.
    """
    if not 0 < hidden.sum() < len(hidden):
        return None
    errors = np.abs(decided - target)
    return float(errors[hidden == 0].mean() + errors[hidden == 1].mean())


def error_floor(dependent: float, reached: float, norm: float, lipschitz: float) -> float:
    """Δ − 2·R·C_L·Adv, at most 1, and below 0 where it says nothing (TAPPFL, Eq. 9): the least sum of errors
    (see `conditional_errors`) of a task's probabilities.

    dependent: Δ, see `dependence`. reached: the adversary's advantage. norm: R, the greatest norm of a
    representation. lipschitz: C_L, of the head that gives the probability of class 1.

    It holds for the worst adversary, so by the advantage of any other it is an estimate, and too high.
    Decisions are no Lipschitz function of a representation: a head of tiny weights decides as well as any,
    and the floor does not hold for them. Their floor is Δ − Adv, which needs neither R nor C_L, since an
    adversary may guess by the decision; it holds for probabilities as well.
    """
    return dependent - 2.0 * norm * lipschitz * reached


@dataclass(frozen=True)
class Represented:
    """Use that was made of users' representations. Arrays are (V,), of users whose classes are known.

    norm: R, the greatest norm of a representation. lipschitz: C_L of the head on it, see
    `leakrange.nets.lipschitz`; None where it is not known. target, decided: the true classes and the
    decisions of the task. soft: the probability of class 1 that the head gave; None where it is not known.
    hidden, guessed: the true classes of the attribute, and the attack's guesses. Theorem 1 is about two
    classes of both.
    """

    target: NDArray[np.integer]
    decided: NDArray[np.integer]
    hidden: NDArray[np.integer]
    guessed: NDArray[np.integer]
    norm: float
    lipschitz: float | None = None
    soft: NDArray[np.floating] | None = None

    @cached_property
    def binary(self) -> bool:
        """Whether both target and attribute have two classes, and there are users of both hidden ones."""
        columns = (self.target, self.decided, self.hidden, self.guessed)
        two = all(np.isin(each, (0, 1)).all() for each in columns)
        return two and 0 < int(self.hidden.sum()) < len(self.hidden)


@metric(
    "advantage", measures=Guesses, title="advantage", unit="score", role="leakage", rank=55, chance=0.0,
    equation="|Pr(guess = a | class = a) − Pr(guess = a | class ≠ a)|, of two classes (TAPPFL, Eq. 8)",
    claim="tells “{hidden}” with an advantage of {value}",
)  # fmt: skip
def _advantage(guesses: Guesses) -> float | None:
    return advantage(guesses.predicted, guesses.truth) if guesses.classes == 2 else None


@metric(
    "dependence", measures=Represented, title="dependence of target and hidden attribute",
    unit="score", role="context", rank=70,
    equation="Δ = |Pr(y = 1|u = 0) − Pr(y = 1|u = 1)| (TAPPFL, Theorem 1)",
)  # fmt: skip
def _dependence(represented: Represented) -> float | None:
    return dependence(represented.target, represented.hidden) if represented.binary else None


@metric(
    "decision_errors", measures=Represented, title="errors of decisions, both groups’ sum", unit="number",
    role="context", rank=71, higher=False, equation="Pr(ŷ ≠ y|u = 0) + Pr(ŷ ≠ y|u = 1)",
)  # fmt: skip
def _decision_errors(represented: Represented) -> float | None:
    return (
        conditional_errors(represented.decided, represented.target, represented.hidden)
        if represented.binary
        else None
    )


@metric(
    "decision_error_floor", measures=Represented, title="least errors of decisions", unit="number",
    role="context", rank=72,
    equation="Δ − Adv, by the advantage that the attack reached (TAPPFL, Theorem 1 for decisions)",
)  # fmt: skip
def _decision_error_floor(represented: Represented) -> float | None:
    return _floor(represented, 0.5, 1.0)


@metric(
    "soft_errors", measures=Represented, title="errors of probabilities, both groups’ sum", unit="number",
    role="context", rank=73, higher=False, equation="Σ over a of E[|y − c(r)| | u = a] (TAPPFL, Eq. 15)",
)  # fmt: skip
def _soft_errors(represented: Represented) -> float | None:
    if represented.soft is None or not represented.binary:
        return None
    return conditional_errors(represented.soft, represented.target, represented.hidden)


@metric(
    "error_floor", measures=Represented, title="least errors of probabilities", unit="number", role="context",
    rank=74, equation="Δ − 2·R·C_L·Adv, by the advantage that the attack reached (TAPPFL, Eq. 9)",
)  # fmt: skip
def _error_floor(represented: Represented) -> float | None:
    return (
        None
        if represented.lipschitz is None
        else _floor(represented, represented.norm, represented.lipschitz)
    )


def _floor(represented: Represented, norm: float, lipschitz: float) -> float | None:
    if not represented.binary:
        return None
    dependent, reached = (
        dependence(represented.target, represented.hidden),
        advantage(represented.guessed, represented.hidden),
    )
    return None if dependent is None or reached is None else error_floor(dependent, reached, norm, lipschitz)


@metric(
    "representation_norm", measures=Represented, title="greatest norm of a representation", unit="number",
    role="context", rank=75, equation="R = max ‖r‖ (TAPPFL, Theorem 1)",
)  # fmt: skip
def _norm(represented: Represented) -> float:
    return represented.norm


@metric(
    "head_lipschitz", measures=Represented, title="Lipschitz constant of the head, at most", unit="number",
    role="context", rank=76, equation="C_L: product of the spectral norms of its linear layers",
)  # fmt: skip
def _lipschitz(represented: Represented) -> float | None:
    return represented.lipschitz
