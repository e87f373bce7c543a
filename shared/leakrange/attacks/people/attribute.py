"""A linear classifier of releases, fitted on few labelled records (FACELEAKS Algorithm 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.people.classifiers import choose_setting, fitted_scores

__all__ = ["attribute_scores"]

Vectors = NDArray[np.floating]
Mask = NDArray[np.bool_]


def attribute_scores(
    auxiliary: Vectors,
    labels: Mask,
    target: Vectors,
    person: NDArray[np.int64] | None = None,
    seed: int = 0,
) -> NDArray[np.float64]:
    """Scores (t,) of the ``target`` releases (t, d), higher meaning that the attribute is present. A logistic
    regression is fitted on auxiliary releases (a, d) with ``labels`` (a,).

    Releases may be features, distances to reference identities x₂ (one column each), or confidence vectors.
    They are standardised. With `ENOUGH` records or more, the penalty is chosen by inner cross-validation that
    keeps the records of one ``person`` (a,) together. Raises as `fitted_scores`.
    """
    setting = choose_setting("logistic", auxiliary, labels, person, seed)
    return fitted_scores("logistic", auxiliary, labels, target, setting, seed)
