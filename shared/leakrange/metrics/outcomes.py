"""Outcomes of a trial, from which metrics are computed: arrays of predictions and truth."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.membership import MembershipReport, membership_report

__all__ = ["Decisions", "Guesses", "Membership", "Ranking"]


@dataclass(frozen=True)
class Decisions:
    """The classes that users were given (V,), and their true ones (V,), -1 where unknown."""

    decided: NDArray[np.integer]
    truth: NDArray[np.integer]


@dataclass(frozen=True)
class Guesses:
    """The classes that an attack guessed (V,), and the true ones (V,), all of ``classes`` classes."""

    predicted: NDArray[np.integer]
    truth: NDArray[np.integer]
    classes: int


@dataclass(frozen=True)
class Ranking:
    """Scores that rank samples by how well they fit a class: (N, S), one column for each class, or (N,) of
    class 1; and the true classes (N,). ``group`` (N,) tells samples that resemble each other, as several
    pictures of one person do; None where all are independent.
    """

    scores: NDArray[np.floating]
    truth: NDArray[np.integer] | NDArray[np.bool_]
    group: NDArray[np.integer] | None = None


@dataclass(frozen=True)
class Membership(Ranking):
    """Scores (N,) of records, higher meaning member, and whether each was trained on: ``truth`` (N,), bool.
    ``seed`` halves the records into those that choose a threshold and those that test it.
    """

    seed: int = 0

    @cached_property
    def report(self) -> MembershipReport:
        """Every figure of the attack; raises as `membership_report`."""
        return membership_report(self.scores, self.truth.astype(bool), self.seed, self.group)

    @property
    def guesses(self) -> Guesses:
        """Who is told to be a member at the threshold, of the test half."""
        tested = self.report.tested
        return Guesses(self.report.guessed[tested].astype(int), self.truth[tested].astype(int), 2)
