"""Class-based membership inference by an attacker who knows the membership of some classes."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classifiers import choose_setting, fitted_scores
from leakrange.attacks.people.folds import FOLDS, OutOfFold, even_folds, out_of_fold
from leakrange.attacks.people.projection import projected
from leakrange.wire.errors import InvalidInput

__all__ = ["cross_validated_scores"]


def cross_validated_scores(
    features: NDArray[np.floating],
    member: NDArray[np.bool_],
    classifier: Literal["qda", "logistic"] = "qda",
    components: int | None = None,
    folds: int = FOLDS,
    seed: int = 0,
) -> OutOfFold:
    """A score of every class by a classifier fitted on the other folds' (Algorithm 1 with D_aux; Sections 5.1
    to 5.3, Figure 6).

    ``features`` (C, d): upper triangles of covariances (with ``components`` = 50, or 15 for recognition), or
    statistics of distances; ``member`` (C,). A fold holds whole classes. All that is fitted — projection,
    scales, regularisation (`choose_setting`), classifier — sees the training folds alone, so a score does not
    depend on the class's own label. Higher means member.

    Raises `InvalidInput` where lengths differ, or with fewer than ``folds`` classes of a kind.
    """
    if features.ndim != 2 or len(features) != len(member):
        raise InvalidInput(f"features {features.shape} of {len(member)} classes")

    def score(train: NDArray[np.intp], test: NDArray[np.intp]) -> NDArray[np.float64]:
        known, asked = projected(features[train], features[test], components)
        setting = choose_setting(classifier, known, member[train], seed=seed)
        return fitted_scores(classifier, known, member[train], asked, setting, seed)

    return out_of_fold(even_folds(member, folds, seed), score)
