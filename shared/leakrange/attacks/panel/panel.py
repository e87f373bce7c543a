"""Fits all learners of the panel, and chooses one by records that it has not learnt from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.attribute_nets import AttributeInferenceParameters
from leakrange.attacks.learning import dealt
from leakrange.attacks.panel.learners import (
    COLUMNS,
    Learner,
    LogisticRegression,
    NearestMean,
    NearestNeighbours,
    State,
    shares_of,
)
from leakrange.attacks.panel.nets import PaperNets, Perceptron
from leakrange.attacks.panel.trees import BoostedTrees
from leakrange.attacks.panel.views import ReleaseView
from leakrange.metrics import softmax
from leakrange.wire.errors import InvalidInput

__all__ = [
    "LEARNERS",
    "ChosenLearner",
    "apply",
    "every_learner",
    "panel",
    "panel_arrays",
    "tell_apart",
]

TEMPERATURES = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0)
ROUNDS = 6
LEARNERS: tuple[type[Learner], ...] = (
    LogisticRegression,
    NearestMean,
    BoostedTrees,
    NearestNeighbours,
    Perceptron,
    PaperNets,
)


Row = tuple[str, str, float, float, NDArray[np.float32]]
"""A learner as reports show it: its name and that of its view of the releases, its area and log loss on
held-out records, and its scores (V, classes) of victims."""


@dataclass(frozen=True)
class ChosenLearner:
    """A learner with the setting that did best on held-out records.

    states: what it has learnt, fold by fold. held_out: the scores (A, classes) of the records, each by the
    state that has not learnt from it. constant: whether every state gives all of them the same. area: their
    `tell_apart`, and loss: their mean log loss in nats, after calibration: the shares are
    softmax(temperature · logits + bias).
    """

    learner: type[Learner]
    view: ReleaseView
    states: Sequence[State]
    held_out: NDArray[np.float64]
    constant: bool
    area: float
    temperature: float
    bias: NDArray[np.float64]
    loss: float

    def scores(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:
        """Shares (V, classes) of releases (V, N): the mean over folds."""
        return _scores(self.learner, self.view, self.states, self.temperature, self.bias, rows)

    def row(self, victims: NDArray[np.float32]) -> Row:
        """The learner, as reports show it, with its shares of the victims' releases (V, N)."""
        return self.learner.name, self.view.name, self.area, self.loss, self.scores(victims)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays with which `apply` gives the same scores."""
        arrays = {
            "learner": np.array(self.learner.name),
            "folds": np.array(len(self.states)),
            "temperature": np.array(self.temperature),
            "calibration": self.bias,
            **{f"view.{name}": array for name, array in self.view.arrays().items()},
        }
        for number, state in enumerate(self.states):
            arrays |= {f"{number}.{name}": array for name, array in state.items()}
        return arrays


def panel_arrays(
    rows: Sequence[Row],
    held_out: NDArray[np.float64],
    fold: NDArray[np.int64],
    truth: NDArray[np.int64],
    group: NDArray[np.int64] | None,
) -> dict[str, NDArray[Any]]:
    """See `leakrange.attacks.attack.Inference.panel`: of learners, the best one first, which gave the
    records (A,) of those classes, folds and groups the ``held_out`` scores (A, classes)."""
    names, views, areas, losses, scores = zip(*rows, strict=True)
    arrays = {
        "learner": np.array(names),
        "view": np.array(views),
        "area": np.array(areas),
        "loss": np.array(losses),
        "scores": np.stack(scores),
        "ranks": ranks_in_folds(held_out, fold),
        "truth": truth,
    }
    return arrays if group is None else arrays | {"group": group}


def apply(arrays: Mapping[str, NDArray[Any]], rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """The shares (V, classes) that a `ChosenLearner` of these ``arrays`` gives releases (V, N), by NumPy.

    Raises `InvalidInput` for arrays of no learner."""
    by_name = {learner.name: learner for learner in LEARNERS}
    learner = by_name.get(str(arrays.get("learner", "")))
    if learner is None:
        raise InvalidInput("nothing of what the attack learnt was kept")
    states = [_below(arrays, f"{number}.") for number in range(int(arrays["folds"]))]
    view = ReleaseView.from_arrays(_below(arrays, "view."))
    return _scores(learner, view, states, float(arrays["temperature"]), arrays["calibration"], rows)


def _below(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}


def _scores(
    learner: type[Learner],
    view: ReleaseView,
    states: Sequence[State],
    temperature: float,
    bias: NDArray[np.float64],
    rows: NDArray[np.float32],
) -> NDArray[np.float32]:
    read = view(rows)
    shares = [softmax(temperature * _logs(learner, state, read) + bias) for state in states]
    return np.asarray(np.mean(shares, axis=0), dtype=np.float32)


def _logs(learner: type[Learner] | Learner, state: State, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Logarithms of shares (V, classes)."""
    logits = learner.logits(state, rows[:, state[COLUMNS]] if COLUMNS in state else rows)
    return np.asarray(np.log(np.maximum(softmax(logits), 1e-12)))


def panel(
    rows: NDArray[np.float32],
    labels: NDArray[np.int64],
    classes: int,
    learners: Sequence[Learner],
    *,
    soft: bool,
    group: NDArray[np.int64] | None,
    seed: int,
) -> list[ChosenLearner]:
    """Every one of the ``learners`` at its best, the best of all first: that of the highest area, and of
    equals the surest. One that gives everybody the same score comes last: its area of .5 is no guess, and
    where nothing is to be learnt others miss .5 by chance to either side.

    rows: releases (A, N), ``soft`` where they are probabilities. ``group`` (A,) is equal for records that
    resemble each other, which are held out together. Where all records are of one class there is one learner,
    which gives everybody the same scores.
    """
    from threadpoolctl import threadpool_limits

    fold = dealt(labels, group, seed)
    if len(np.unique(labels)) < 2:
        return [_best(NearestMean(), {}, rows, labels, classes, fold, seed, soft=False)]
    views: dict[str, ReleaseView] = {}
    with threadpool_limits(limits=1):  # workers share the cores
        best = [_best(each, views, rows, labels, classes, fold, seed, soft=soft) for each in learners]
    return sorted(best, key=lambda one: (one.constant, -one.area, one.loss))


def every_learner(parameters: AttributeInferenceParameters) -> list[Learner]:
    """One of each of `LEARNERS`; ``parameters`` are of the paper's nets."""
    return [PaperNets(parameters) if kind is PaperNets else kind() for kind in LEARNERS]


def _best(
    learner: Learner,
    views: dict[str, ReleaseView],
    rows: NDArray[np.float32],
    labels: NDArray[np.int64],
    classes: int,
    fold: NDArray[np.int64],
    seed: int,
    *,
    soft: bool,
) -> ChosenLearner:
    """The view and the setting of a learner that tell held-out records apart best; of equals the surest, and
    one that gives all the same score where it has no other."""
    tried: list[tuple[tuple[bool, float], ReleaseView, list[State], NDArray[np.float64]]] = []
    for name in learner.soft if soft else learner.views:
        view = views.setdefault(name, ReleaseView.of(name, rows))
        read = view(rows)
        for states in learner.crossfit(read, labels, classes, fold, seed):
            held_out = np.empty((len(rows), classes))
            for number, state in enumerate(states):
                held_out[fold == number] = _logs(learner, state, read[fold == number])
            varied = any(np.ptp(held_out[fold == number], axis=0).any() for number in range(len(states)))
            area = round(tell_apart(held_out, labels, fold), 9)
            tried.append(((varied, area), view, states, held_out))
    best = max(rank for rank, *_ in tried)
    equal = [
        ChosenLearner(
            type(learner),
            view,
            states,
            held_out,
            not best[0],
            best[1],
            *_calibrated(held_out, labels, classes),
        )
        for rank, view, states, held_out in tried
        if rank == best
    ]
    return min(equal, key=lambda one: one.loss)


def ranks_in_folds(held_out: NDArray[np.float64], fold: NDArray[np.int64]) -> NDArray[np.float64]:
    """The scores (A, classes) as ranks within their fold, in [0, 1]: each fold's have a scale of their own.
    Of two classes the second column ranks their difference, and the first is its negative."""
    from scipy.stats import rankdata

    scores = held_out if held_out.shape[1] != 2 else (held_out[:, 1] - held_out[:, 0])[:, None]
    ranks = np.empty_like(scores)
    for number in np.unique(fold):
        part = fold == number
        ranks[part] = (rankdata(scores[part].round(9), axis=0) - 0.5) / part.sum()
    return ranks if held_out.shape[1] != 2 else np.concatenate([-ranks, ranks], axis=1)


def tell_apart(held_out: NDArray[np.float64], labels: NDArray[np.int64], fold: NDArray[np.int64]) -> float:
    """The mean over classes of the AUC of one against the rest, by ranks within folds; .5 where all records
    are of one class."""
    from scipy.stats import rankdata

    ranks = rankdata(ranks_in_folds(held_out, fold), axis=0)
    areas = []
    for number in [1] if held_out.shape[1] == 2 else range(held_out.shape[1]):
        positive = labels == number
        many, rest = int(positive.sum()), int((~positive).sum())
        if many and rest:
            areas.append((ranks[positive, number].sum() - many * (many + 1) / 2) / (many * rest))
    return float(np.mean(areas)) if areas else 0.5


def _calibrated(
    held_out: NDArray[np.float64], labels: NDArray[np.int64], classes: int
) -> tuple[float, NDArray[np.float64], float]:
    """The temperature, the bias (classes,) and the mean log loss in nats: the least of a few temperatures,
    each with the bias that makes the mean shares the classes'. The commonest class gets more, where held-out
    records would otherwise be guessed right less often than by guessing it."""
    shares, usual = shares_of(labels, classes), int(np.bincount(labels, minlength=classes).argmax())
    best: tuple[float, NDArray[np.float64], float] | None = None
    for temperature in TEMPERATURES:
        bias = np.zeros(classes)
        for _ in range(ROUNDS):
            bias += np.log(shares / softmax(temperature * held_out + bias).mean(axis=0))
        likelihoods = softmax(temperature * held_out + bias)[np.arange(len(labels)), labels]
        loss = float(-np.log(np.maximum(likelihoods, 1e-12)).mean())
        if best is None or loss < best[2]:
            best = temperature, bias, loss
    assert best is not None
    temperature, bias, loss = best
    for more in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 32.0):
        shifted = bias + more * (np.arange(classes) == usual)
        if ((temperature * held_out + shifted).argmax(axis=1) == labels).sum() >= (labels == usual).sum():
            break
    return temperature, shifted, loss
