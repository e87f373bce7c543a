"""Classes of images, a class being all images with one person label: equally many of each, or those of each
that are most alike; and folds of classes or of records, with the scores out of fold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.data.splits import shuffled, stream
from leakrange.metrics.roc import auc
from leakrange.wire.errors import InvalidInput

__all__ = [
    "FOLDS",
    "FoldsBy",
    "equal_images",
    "even_folds",
    "grouped",
    "left",
    "most_alike",
    "out_of_fold",
    "person_folds",
    "person_labels",
    "trimmed",
]

Person = NDArray[np.int64]
Rows = NDArray[np.intp]


def grouped(person: Person) -> tuple[Person, list[Rows]]:
    """The distinct labels of ``person`` (n,), ascending (C,), and the rows of each, ascending."""
    classes, index = np.unique(person, return_inverse=True)
    order = np.argsort(index, kind="stable")
    ends = np.cumsum(np.bincount(index, minlength=len(classes)))
    return classes, np.split(order, ends[:-1]) if len(classes) else []


def equal_images(person: Person, images: int, seed: int = 0) -> Rows:
    """Ascending rows of ``images`` random images of every class that has enough; other classes are left out.

    The off-diagonal elements of a covariance grow when it is estimated from fewer images, so only classes
    with equal numbers of images can be compared.
    """
    rng = stream(seed, "equal images")
    chosen = [rows[shuffled(rng, len(rows))[:images]] for rows in grouped(person)[1] if len(rows) >= images]
    return np.sort(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.intp)


STEPS = 20
"""The largest number of concentration steps; a handful settles it."""


def left(count: int, share: float) -> int:
    """How many of ``count`` are left without a ``share`` of them, which is rounded down."""
    return count - int(share * count)


def most_alike(vectors: NDArray[np.floating], count: int) -> NDArray[np.intp]:
    """Ascending rows of the ``count`` of ``vectors`` (m, k) that lie nearest to their own mean.

    From the ``count`` nearest to the median of each coordinate, the mean and the nearest to it are taken in
    turn until they stay: the concentration steps of a minimum covariance determinant (Rousseeuw and Van
    Driessen 1999), by Euclidean distances, since a class has fewer vectors than these have coordinates.
    Raises `InvalidInput` unless 1 ≤ ``count`` ≤ m.
    """
    if not 1 <= count <= len(vectors):
        raise InvalidInput(f"{count} of {len(vectors)} vectors cannot be kept")
    exact = np.asarray(vectors, dtype=np.float64)
    kept = _nearest(exact, np.median(exact, axis=0), count)
    for _ in range(STEPS):
        again = _nearest(exact, exact[kept].mean(axis=0), count)
        if (again == kept).all():
            break
        kept = again
    return kept


def trimmed(releases: NDArray[np.floating], people: int, share: float) -> NDArray[np.floating]:
    """Return ``releases`` (people · m, k), person by person, without the ``share`` of each person's releases
    that lies farthest apart, rounded down: (people · h, k)."""
    each = len(releases) // people
    count = left(each, share)
    if count == each:
        return releases
    by_person = releases.reshape(people, each, -1)
    return np.concatenate([vectors[most_alike(vectors, count)] for vectors in by_person])


def _nearest(vectors: NDArray[np.float64], centre: NDArray[np.float64], count: int) -> NDArray[np.intp]:
    order = np.argsort(((vectors - centre) ** 2).sum(axis=1), kind="stable")
    return np.sort(order[:count])


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
