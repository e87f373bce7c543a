"""Imputation: what is guessed of a hidden attribute without the model, from what is known of users anyway."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, BeforeValidator

from leakrange.attacks import attacks
from leakrange.attacks.attack import Attack, Knowledge
from leakrange.data import names
from leakrange.data.splits import shuffled, stream
from leakrange.strict import Strict

__all__ = ["Imputation", "even_parts", "imputed"]

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
    probabilities = np.empty((len(hidden), classes))
    for each in np.unique(fold):
        others = fold != each
        shares = np.full_like(probabilities, 1.0 / classes)
        alike = np.zeros(len(hidden), dtype=np.int64)
        for attribute in (alike, *known):
            _, value = np.unique(attribute, return_inverse=True)
            _, alike = np.unique(alike * len(hidden) + value, return_inverse=True)
            counts = np.zeros((int(alike.max()) + 1, classes))
            np.add.at(counts, (alike[others], hidden[others]), 1.0)
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
