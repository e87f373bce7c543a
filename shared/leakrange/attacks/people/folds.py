"""Splits classes or records into folds, and collects out-of-fold scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.data.splits import shuffled, stream
from leakrange.metrics.roc import auc
from leakrange.wire.errors import InvalidInput

__all__ = ["FOLDS", "FoldsBy", "OutOfFold", "even_folds", "out_of_fold", "person_folds", "person_labels"]

FOLDS = 5
"""The number of folds in every experiment of FACELEAKS."""

FoldsBy = Literal["person", "record"]
Mask = NDArray[np.bool_]
Folds = NDArray[np.int64]


@dataclass(frozen=True)
class OutOfFold:
    """scores (n,), higher meaning positive, each by a model that was fitted without the sample's fold; fold
    (n,), 0 .. folds − 1.

    Scores of two folds come from two models, so that an AUC over all samples may differ from the mean of the
    folds'. FACELEAKS reports the latter.
    """

    scores: NDArray[np.float64]
    fold: Folds

    def aucs(self, positive: Mask) -> list[float]:
        """The AUC within each fold, against the truth (n,)."""
        return [auc(self.scores[part], positive[part]) for part in self._parts()]

    def _parts(self) -> list[Mask]:
        return [self.fold == each for each in range(int(self.fold.max()) + 1)]


def even_folds(positive: Mask, folds: int = FOLDS, seed: int = 0) -> Folds:
    """A random fold (n,) for each sample. Both labels (n,) are spread over the folds equally, up to one
    sample.

    Raises `InvalidInput` for fewer than 2 folds, or where a label has fewer samples than there are folds.
    """
    fewest = min(int(positive.sum()), int((~positive).sum()))
    if folds < 2 or fewest < folds:
        raise InvalidInput(f"no {folds} folds of {len(positive)} samples, {fewest} of them of one label")
    order = shuffled(stream(seed, "folds"), len(positive))
    ranked = np.concatenate([order[positive[order]], order[~positive[order]]])
    fold = np.empty(len(positive), dtype=np.int64)
    fold[ranked] = np.arange(len(positive)) % folds
    return fold


def person_folds(person: NDArray[np.int64], positive: Mask, folds: int = FOLDS, seed: int = 0) -> Folds:
    """A fold (n,) for each record, with all records of a person in one fold. A person counts for the label
    (n,) of most of its records; both labels are spread over the folds equally.

    Raises as `even_folds`, of persons.
    """
    index = np.unique(person, return_inverse=True)[1]
    return even_folds(person_labels(person, positive), folds, seed)[index]


def person_labels(person: NDArray[np.int64], positive: Mask) -> Mask:
    """The label (C,) of most records of each person (positive on a tie)."""
    index = np.unique(person, return_inverse=True)[1]
    mostly: Mask = np.bincount(index, weights=positive) / np.bincount(index) >= 0.5
    return mostly


def out_of_fold(
    fold: Folds, score: Callable[[NDArray[np.intp], NDArray[np.intp]], NDArray[np.float64]]
) -> OutOfFold:
    """Calls ``score(train, test)`` once per fold, with the fold's rows as test and all others as train. It
    returns the scores of the test rows."""
    scores = np.empty(len(fold))
    for each in range(int(fold.max()) + 1):
        test = np.flatnonzero(fold == each)
        scores[test] = score(np.flatnonzero(fold != each), test)
    return OutOfFold(scores, fold)
