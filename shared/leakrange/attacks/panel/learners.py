"""Learners that are fitted in closed form or by a convex search: lines, means and neighbours."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "COLUMNS",
    "Foldwise",
    "Learner",
    "LogisticRegression",
    "NearestMean",
    "NearestNeighbours",
    "State",
    "capped",
    "telling",
]

State = Mapping[str, NDArray[Any]]
"""What a learner has learnt, arrays by name; with `COLUMNS` of some numbers of a row alone."""
COLUMNS = "columns"
Rows = NDArray[np.float32]


class Learner(ABC):
    """Learns classes from rows (A, M) of a `leakrange.attacks.panel.views.ReleaseView`.

    It tries the ``views`` on raw numbers, and the ``soft`` ones on probabilities.
    """

    name: ClassVar[str]
    views: ClassVar[tuple[str, ...]] = ("raw",)
    soft: ClassVar[tuple[str, ...]] = ("raw", "log")

    @abstractmethod
    def crossfit(
        self, rows: Rows, labels: NDArray[np.int64], classes: int, fold: NDArray[np.int64], seed: int
    ) -> list[list[State]]:
        """The states for each setting that it tries and for each fold, learnt from all other folds' rows."""

    @staticmethod
    @abstractmethod
    def logits(state: State, rows: Rows) -> NDArray[np.floating]:
        """Scores (V, classes) of rows (V, M): logarithms of shares, up to a constant for each row. Where the
        state names `COLUMNS`, ``rows`` hold only these."""


class Foldwise(Learner):
    """A learner that learns from one fold after the other, of at most ``most`` values (records × numbers).

    Of longer rows than ``widest`` (None: no limit) it reads only the ``widest`` numbers in which classes
    differ most among the records that it learns from: see `telling`.
    """

    most: ClassVar[int] = 20_000_000

    def __init__(self, widest: int | None = None) -> None:
        self.widest = widest

    @abstractmethod
    def fit(self, rows: Rows, labels: NDArray[np.int64], classes: int, seed: int) -> list[State]:
        """The state learnt with each of its settings."""

    def crossfit(
        self, rows: Rows, labels: NDArray[np.int64], classes: int, fold: NDArray[np.int64], seed: int
    ) -> list[list[State]]:
        """See `Learner.crossfit`."""
        fitted: list[list[State]] = []
        for number in range(int(fold.max()) + 1):
            lessons, columns = np.flatnonzero(fold != number), None
            if self.widest is not None and rows.shape[1] > self.widest:
                columns = telling(rows[lessons], labels[lessons], self.widest)
            width = rows.shape[1] if columns is None else len(columns)
            lessons = capped(lessons, width, self.most, seed)
            if columns is None:
                fitted.append(self.fit(rows[lessons], labels[lessons], classes, seed))
            else:
                states = self.fit(rows[np.ix_(lessons, columns)], labels[lessons], classes, seed)
                fitted.append([{**state, COLUMNS: columns} for state in states])
        return [list(states) for states in zip(*fitted, strict=True)]


def telling(rows: Rows, labels: NDArray[np.int64], count: int) -> NDArray[np.intp]:
    """The ``count`` columns of rows (A, M) that by themselves tell most about the classes, in ascending
    order: those whose means, or the means of whose squares, differ most between classes, in deviations within
    classes."""
    classes = np.eye(int(labels.max()) + 1, dtype=np.float32)[labels]
    counts = np.maximum(classes.sum(axis=0), 1.0)[:, None]

    def apart(values: Rows) -> NDArray[np.floating]:
        centred = values - values.mean(axis=0)
        between = (counts * (classes.T @ centred / counts) ** 2).sum(axis=0)
        return np.asarray(between / ((centred**2).sum(axis=0) - between + 1e-3))

    most = np.argsort(-np.maximum(apart(rows), apart(rows**2)), kind="stable")
    return np.asarray(np.sort(most[:count]))


def capped(records: NDArray[np.intp], width: int, most: int, seed: int) -> NDArray[np.intp]:
    """As many of the records, drawn at random, as hold at most ``most`` numbers, ``width`` each; at least
    1,000."""
    count = max(1000, most // width)
    if len(records) <= count:
        return records
    return np.sort(np.random.default_rng(seed).permutation(records)[:count])


def shares_of(labels: NDArray[np.int64], classes: int) -> NDArray[np.float64]:
    """The classes' shares (classes,), none of them 0."""
    counts = np.bincount(labels, minlength=classes) + 0.5
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares


class Linear(Foldwise):
    """A learner whose scores are linear in the row: ``weights`` (M, classes) and ``bias`` (classes,)."""

    @staticmethod
    def logits(state: State, rows: Rows) -> NDArray[np.floating]:
        """See `Learner.logits`."""
        scores: NDArray[np.floating] = rows @ state["weights"] + state["bias"]
        return scores


class LogisticRegression(Linear):
    """Logistic regression; its settings are penalties of the squared weights, beside the mean loss.

    Of at most 20 million numbers, some 40,000 records of 512.
    """

    name: ClassVar[str] = "logistic regression"
    views: ClassVar[tuple[str, ...]] = ("raw", "raw squares")
    soft: ClassVar[tuple[str, ...]] = ("raw", "log", "log squares")
    penalties: ClassVar[tuple[float, ...]] = (1.0, 0.1, 0.01)

    def fit(self, rows: Rows, labels: NDArray[np.int64], classes: int, seed: int) -> list[State]:
        """See `Foldwise.fit`."""
        del seed
        from sklearn import linear_model
        from sklearn.exceptions import ConvergenceWarning

        present = np.unique(labels)
        bias = np.log(shares_of(labels, classes))
        states: list[State] = []
        for penalty in self.penalties:
            weights, biases = np.zeros((rows.shape[1], classes), dtype=np.float32), bias.copy()
            if len(present) > 1:
                line = linear_model.LogisticRegression(C=1 / (penalty * len(rows)), tol=1e-3, max_iter=200)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)  # held-out records judge it
                    line.fit(rows, labels)
                coef, intercept = line.coef_, line.intercept_
                if len(present) == 2:
                    coef, intercept = np.stack([0 * coef[0], coef[0]]), np.append(0.0, intercept)
                weights[:, present], biases[present] = coef.T, intercept
            states.append({"weights": weights, "bias": biases})
        return states


class NearestMean(Linear):
    """The class whose mean is nearest, in deviations within classes. Its settings are by how many standard
    errors the means are drawn together, so that numbers that tell nothing drop out (Tibshirani et al. 2002).
    """

    name: ClassVar[str] = "nearest class mean"
    thresholds: ClassVar[tuple[float, ...]] = (0.0, 1.0, 2.0, 3.0, 4.0)

    def fit(self, rows: Rows, labels: NDArray[np.int64], classes: int, seed: int) -> list[State]:
        """See `Foldwise.fit`."""
        del seed
        counts = np.bincount(labels, minlength=classes)
        chosen = np.eye(classes)[labels]
        everybody = rows.mean(axis=0, dtype=np.float64)
        means = np.where(counts[:, None] > 0, chosen.T @ rows / np.maximum(counts, 1)[:, None], everybody)
        spread = np.sqrt(((rows - means[labels]) ** 2).mean(axis=0)) + 1e-3
        errors = spread * np.sqrt(1 / np.maximum(counts, 1))[:, None]
        states: list[State] = []
        for threshold in self.thresholds:
            apart = means - everybody
            apart = np.sign(apart) * np.maximum(np.abs(apart) - threshold * errors, 0)
            weights = apart.T / spread[:, None] ** 2
            bias = np.log(shares_of(labels, classes)) - ((apart / 2 + everybody) * weights.T).sum(axis=1)
            states.append({"weights": weights.astype(np.float32), "bias": bias})
        return states


class NearestNeighbours(Foldwise):
    """The classes of the nearest records; its settings are how many of them. It has at most 2,000 records."""

    name: ClassVar[str] = "nearest neighbours"
    records: ClassVar[int] = 2000
    counts: ClassVar[tuple[int, ...]] = (5, 20, 80)
    part: ClassVar[int] = 1024
    """The number of victims that are compared with all records at once."""

    def fit(self, rows: Rows, labels: NDArray[np.int64], classes: int, seed: int) -> list[State]:
        """See `Foldwise.fit`."""
        few = capped(np.arange(len(rows)), 1, self.records, seed)
        learnt: dict[str, NDArray[Any]] = {
            "records": rows[few],
            "labels": labels[few],
            "shares": shares_of(labels, classes),
        }
        return [learnt | {"count": np.array(min(count, len(few) - 1))} for count in self.counts]

    @staticmethod
    def logits(state: State, rows: Rows) -> NDArray[np.floating]:
        """See `Learner.logits`."""
        records, count = state["records"], int(state["count"])
        one_hot = np.eye(len(state["shares"]))[state["labels"]]
        squares = (records**2).sum(axis=1)
        votes = np.empty((len(rows), one_hot.shape[1]))
        for begin in range(0, len(rows), NearestNeighbours.part):
            part = slice(begin, begin + NearestNeighbours.part)
            distances = squares - 2 * rows[part] @ records.T
            nearest = np.argpartition(distances, count, axis=1)[:, :count]
            votes[part] = one_hot[nearest].sum(axis=1)
        return np.log((votes + state["shares"]) / (count + 1))
