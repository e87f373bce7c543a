"""Outcomes of a trial: arrays of predictions and truth, from which metrics are computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.entropy import entropy_bits, surprise
from leakrange.metrics.membership import MembershipReport, membership_report

__all__ = [
    "Grouped",
    "Guesses",
    "HeldOut",
    "Labels",
    "Membership",
    "Predictions",
    "Ranking",
    "SoftOutputs",
    "Taught",
    "UserDecisions",
]


class Grouped:
    """An outcome of samples that may resemble each other, as several pictures of one person do. ``group``
    (N,) names the group of each sample, or (N, 2) both people of a pair; None where all are independent."""

    group: NDArray[np.integer] | None


@dataclass(frozen=True)
class UserDecisions(Grouped):
    """The classes that users were given (V,), and their true ones (V,), -1 where unknown; (V, A) where they
    ask for several attributes. ``group`` is as that of `Grouped`."""

    decided: NDArray[np.integer]
    truth: NDArray[np.integer]
    group: NDArray[np.integer] | None = None


@dataclass(frozen=True)
class SoftOutputs:
    """The soft outputs (V, Y) that a model gave users, as they were released. Those of several attributes lie
    side by side in ``heads``."""

    released: NDArray[np.floating]
    heads: Sequence[int] = ()

    @cached_property
    def bits(self) -> NDArray[np.float64] | None:
        """The entropy of each (V,); None where a defence has left no probabilities."""
        try:
            return entropy_bits(self.released, self.heads) if len(self.released) else None
        except ValueError:
            return None


@dataclass(frozen=True)
class Predictions(Grouped):
    """The class scores (V, N) that users were given for one attribute, and their true classes (V,), -1 where
    unknown. ``group`` is as that of `Grouped`."""

    soft: NDArray[np.floating]
    truth: NDArray[np.integer]
    group: NDArray[np.integer] | None = None


@dataclass(frozen=True)
class Taught:
    """The figures of a teacher's training on samples that it was not trained on, and, where they are known,
    those on the samples that it was ``trained`` on."""

    figures: Mapping[str, float]
    trained: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Labels:
    """The number of people of whom an attack had enough images, and the share of images whose person it
    deduced right; None where it was not asked to."""

    people: float | None = None
    labels_right: float | None = None


@dataclass(frozen=True)
class Guesses(Grouped):
    """The classes that an attack guessed (V,), and the true ones (V,), all of ``classes`` classes. ``group``
    is as that of `Ranking`."""

    predicted: NDArray[np.integer]
    truth: NDArray[np.integer]
    classes: int
    group: NDArray[np.integer] | None = None


@dataclass(frozen=True)
class Ranking(Grouped):
    """Scores that rank samples by how well they fit a class, (N, S) with a column for each class, or (N,) of
    class 1, and the true classes (N,). ``group`` is as that of `Grouped`. ``fold`` (N,) names the model of
    each score, where there are several: an AUC is then the mean of the folds'."""

    scores: NDArray[np.floating]
    truth: NDArray[np.integer] | NDArray[np.bool_]
    group: NDArray[np.integer] | None = None
    fold: NDArray[np.integer] | None = None

    @cached_property
    def surprise(self) -> NDArray[np.float64]:
        """The surprise of scores (N, S), see `leakrange.metrics.entropy.surprise`."""
        return surprise(self.scores, self.truth.astype(int))

    @property
    def constant(self) -> bool:
        """Whether all scores are equal, or all of each fold."""
        folds = np.zeros(len(self.scores), dtype=int) if self.fold is None else self.fold
        parts = (self.scores[folds == each] for each in np.unique(folds))
        return all(bool((part == part[0]).all()) for part in parts)


@dataclass(frozen=True)
class HeldOut:
    """Ranking by an attack of auxiliary records that it has not learnt from: scores (A, S), true classes
    (A,), and ``group`` as that of `Ranking`."""

    scores: NDArray[np.floating]
    truth: NDArray[np.integer]
    group: NDArray[np.integer] | None = None


@dataclass(frozen=True)
class Membership(Ranking):
    """Scores (N,) of records, higher meaning member, and whether each was trained on: ``truth`` (N,), bool.

    ``seed`` halves the records into those that choose a threshold and those that test it. With ``decided`` no
    threshold is chosen, and scores above 0 mean member.
    """

    seed: int = 0
    decided: bool = False

    @cached_property
    def report(self) -> MembershipReport:
        """Every figure of the attack. Raises as `membership_report` does."""
        return membership_report(
            self.scores, self.truth.astype(bool), self.seed, self.group, self.fold, decided=self.decided
        )

    @property
    def guesses(self) -> Guesses:
        """Guess for each record of the test half: 1 where it is taken for a member at the threshold."""
        tested = self.report.tested
        group = None if self.group is None else self.group[tested]
        return Guesses(self.report.guessed[tested].astype(int), self.truth[tested].astype(int), 2, group)
