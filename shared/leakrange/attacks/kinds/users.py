"""The users of a trial: what they decided, who of them resemble each other, and what is imputed to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.imputation import even_parts, imputed
from leakrange.attacks.kinds.trial import Trial, Uploaded
from leakrange.data import Names, names
from leakrange.metrics import Ranking, UserDecisions

__all__ = ["decisions_of", "imputation_of", "user_groups"]


def user_groups(
    trial: Trial, uploaded: Uploaded, about: Names, users: NDArray[np.intp] | slice
) -> NDArray[np.int64] | None:
    """Which of these ``users`` resemble each other, for an interval of a figure ``about`` them: see
    `leakrange.attacks.kinds.trial.Uploaded.groups`."""
    groups = uploaded.groups(trial.model.recipe.data.name, about)
    return None if groups is None else groups[users]


def decisions_of(trial: Trial, uploaded: Uploaded, users: int | None = None) -> UserDecisions:
    """The decisions that the first ``users`` got, or all, and the true ones."""
    target, first = trial.model.target, slice(users)
    return UserDecisions(
        uploaded.decisions[first], uploaded.truth(target)[first], user_groups(trial, uploaded, target, first)
    )


def imputation_of(
    trial: Trial, uploaded: Uploaded, about: str, classes: int, users: NDArray[np.intp]
) -> Ranking:
    """The ranking that is imputed to these ``users``, whose class of ``about`` is known: from their true
    target classes, their decisions, and the attributes that the attack calls public. See `imputed`."""
    truth, group = uploaded.truth(about)[users], user_groups(trial, uploaded, about, users)
    labels, public = names(trial.model.target), names(trial.parameters.get("public"))
    known = [
        *(uploaded.truth(name)[users] for name in labels if name != about),
        *uploaded.decisions[users].reshape(len(users), -1).T,
        *(uploaded.truth(name)[users] for name in public),
    ]
    fold = even_parts(truth, group, trial.seed)
    return Ranking(imputed(known, truth, classes, fold), truth, group, fold)
