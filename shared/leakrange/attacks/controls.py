"""Controls: what is guessed without the model, beside which attacks are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge
from leakrange.data import names
from leakrange.data.splits import shuffled, stream
from leakrange.metrics.roc import auc
from leakrange.strict import Strict
from leakrange.wire.samples import SampleSpec

__all__ = ["Blind", "Imputation", "blind_scores", "even_parts", "imputed", "pooled"]

FOLDS = 5
WEIGHT = 4.0
"""The weight of the guess from one attribute less, as a number of users who are alike in one more."""


class ImputationParameters(Strict):
    """The hidden attribute; and the attributes that are ``public`` of everybody, besides the target."""

    sensitive: str
    public: Annotated[tuple[str, ...], BeforeValidator(names)] = ()


@attacks.register("imputation")
class Imputation(Attack):
    """A control, beside which attacks on attributes are read: how often each hidden class goes with a target
    class, a decision and what else is public. Each fifth of the users is guessed from the others."""

    name: ClassVar[str] = "imputation"
    summary: ClassVar[str] = "control: the attribute as guessed from the true label and the decision alone"
    paper: ClassVar[str] = "Jayaraman and Evans 2022"
    equation: ClassVar[str] = "Section 4 (imputation)"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax", "features", "sample")
    grants: ClassVar[tuple[str, ...]] = (
        "users' true target classes and their decisions",
        "the hidden attribute of other users",
    )
    kind: ClassVar[str] = "imputation"
    control: ClassVar[bool] = True
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware",)
    Parameters: ClassVar[type[BaseModel]] = ImputationParameters


def imputed(
    known: Sequence[NDArray[np.integer]], hidden: NDArray[np.integer], classes: int, fold: NDArray[np.integer]
) -> NDArray[np.float64]:
    """The probabilities (V, classes) of the ``hidden`` classes (V,) of users, from the ``known`` classes (V,)
    of each of several attributes; those of a ``fold`` (V,) from the users of the others.

    They are shares among the users who are alike in all that is known, drawn towards the shares among those
    who are alike in one attribute less, the last one; and so on to the shares of all.
    """
    alike = np.zeros(len(hidden), dtype=np.int64)
    levels = [alike]
    for attribute in known:
        _, value = np.unique(attribute, return_inverse=True)
        _, alike = np.unique(alike * len(hidden) + value, return_inverse=True)
        levels.append(alike)
    probabilities = np.empty((len(hidden), classes))
    for each in np.unique(fold):
        others = fold != each
        shares = np.full_like(probabilities, 1.0 / classes)
        for alike in levels:
            size = int(alike.max()) + 1, classes
            places = alike[others] * classes + hidden[others]
            counts = np.bincount(places, minlength=size[0] * classes).reshape(size)
            shares = (counts[alike] + WEIGHT * shares) / (counts.sum(axis=1)[alike, np.newaxis] + WEIGHT)
        probabilities[~others] = shares[~others]
    return probabilities


def even_parts(
    classes: NDArray[np.integer] | NDArray[np.bool_], group: NDArray[np.integer] | None, seed: int
) -> NDArray[np.int64]:
    """A random fold (N,) for each sample, five of them, or as few as two where a class has fewer groups.

    All samples of a ``group`` (N,) are in one. Classes (N,) are spread evenly, a group counting for that of
    most of its samples.
    """
    index = np.arange(len(classes)) if group is None else np.unique(group, return_inverse=True)[1]
    _, class_index = np.unique(classes, return_inverse=True)
    counts = np.zeros((int(index.max()) + 1, int(class_index.max()) + 1))
    np.add.at(counts, (index, class_index), 1.0)
    mostly = counts.argmax(axis=1)
    folds = int(np.clip(np.unique(mostly, return_counts=True)[1].min(), 2, FOLDS))
    order = shuffled(stream(seed, "control"), len(mostly))
    order = order[np.argsort(mostly[order], kind="stable")]
    fold = np.empty(len(mostly), dtype=np.int64)
    fold[order] = np.arange(len(mostly)) % folds
    return fold[index]


GRID = {2: 6, 1: 16}
"""The number of parts into which each side is cut, by the number of sides of a sample."""
COLUMNS = 256
"""The largest number of entries of a row that are read one by one."""
CHUNK = 512
MOST = 4_000
"""The largest number of records that a classifier is fitted on."""
SEED = 0


class BlindParameters(Strict):
    """None: it is the same beside every attack."""


@attacks.register("blind")
class Blind(Attack):
    """A control, beside which attacks on membership are read: logistic regression or boosted trees on the
    records, the better of the two on held-out records. Each fifth of the records is told by what the others
    show; near-copies and records of one person are in one fifth."""

    name: ClassVar[str] = "blind"
    summary: ClassVar[str] = "control: members told from others by the records alone, without the model"
    paper: ClassVar[str] = "Das et al. 2024"
    equation: ClassVar[str] = "blind baseline"
    consumes: ClassVar[tuple[str, ...]] = ("logits", "softmax", "features", "sample")
    grants: ClassVar[tuple[str, ...]] = ("the records", "the membership of other records")
    kind: ClassVar[str] = "blind"
    control: ClassVar[bool] = True
    knowledge: ClassVar[tuple[Knowledge, ...]] = ("unaware",)
    Parameters: ClassVar[type[BaseModel]] = BlindParameters


def blind_scores(
    rows: NDArray[np.floating], members: NDArray[np.bool_], group: NDArray[np.integer]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The probability (N,) that each record is one of the ``members`` (N,), from its ``rows`` (N, F), and the
    fold (N,) of each record, whose classifier was fitted on the other folds. All records of a ``group`` (N,)
    are in one fold. The probability is one half where all other records are members, or none is."""
    fold = even_parts(members, group, SEED)
    scores = np.full(len(rows), 0.5)
    for each in np.unique(fold):
        others = np.flatnonzero(fold != each)
        others = others[:: -(-len(others) // MOST)]
        if 0 < members[others].sum() < len(others):
            scores[fold == each] = _by_the_better(
                rows[others], members[others], group[others], rows[fold == each]
            )
    return scores, fold


def _by_the_better(
    rows: NDArray[np.floating],
    members: NDArray[np.bool_],
    group: NDArray[np.integer],
    asked: NDArray[np.floating],
) -> NDArray[np.float64]:
    """The probabilities of the rows that are ``asked`` about, by the classifier that is better on a held-out
    part."""
    held = even_parts(members, group, SEED) == 0
    sides = [members[part] for part in (held, ~held)]
    if any(side.all() or not side.any() for side in sides):
        return _likely(False, rows, members, asked)
    areas = [
        auc(_likely(boosted, rows[~held], members[~held], rows[held]), members[held])
        for boosted in (False, True)
    ]
    return _likely(areas[1] > areas[0], rows, members, asked)


def _likely(
    boosted: bool, rows: NDArray[np.floating], members: NDArray[np.bool_], asked: NDArray[np.floating]
) -> NDArray[np.float64]:
    """The probabilities of the rows that are ``asked`` about, by boosted trees or by logistic regression."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # here, since the controller never needs them
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier = (
        HistGradientBoostingClassifier(max_iter=60, max_depth=3, early_stopping=False, random_state=SEED)
        if boosted
        else make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=200))
    )
    classifier.fit(rows, members)
    return np.asarray(classifier.predict_proba(asked)[:, 1])


def pooled(values: NDArray[Any], spec: SampleSpec) -> NDArray[np.float32]:
    """The features (N, F) of samples (N, *shape). Samples without sides, such as rows of a table, give all
    entries, or the means of 256 spans of them. Pictures and series give the mean and deviation of each
    channel in each part of a grid, and how much neighbours differ."""
    parts = [_pooled(values[start : start + CHUNK], spec) for start in range(0, len(values), CHUNK)]
    return np.concatenate(parts)


def _pooled(values: NDArray[Any], spec: SampleSpec) -> NDArray[np.float32]:
    scaled = values / np.asarray(spec.scale, dtype=np.float32) + np.asarray(spec.offset, dtype=np.float32)
    if not spec.sides:
        return _means(scaled, (1,), COLUMNS).astype(np.float32)
    axes, parts = tuple(range(1, scaled.ndim - 1)), GRID[len(spec.sides)]
    means, squares = (_means(each, axes, parts) for each in (scaled, scaled**2))
    rough = [np.abs(np.diff(scaled, axis=axis)).mean(axis=axes) for axis in axes]
    features = [means, np.sqrt(np.maximum(squares - means**2, 0.0)), *rough]
    return np.concatenate([each.reshape(len(values), -1) for each in features], axis=1).astype(np.float32)


def _means(values: NDArray[np.floating], axes: tuple[int, ...], parts: int) -> NDArray[np.floating]:
    """The means of ``values`` in each of ``parts`` spans of each of the axes, or as many as it is long."""
    for axis in axes:
        length = values.shape[axis]
        starts = np.arange(min(parts, length)) * length // min(parts, length)
        sizes = np.diff(np.append(starts, length))
        shape = [-1 if place == axis else 1 for place in range(values.ndim)]
        values = np.add.reduceat(values, starts, axis=axis) / sizes.reshape(shape)
    return values
