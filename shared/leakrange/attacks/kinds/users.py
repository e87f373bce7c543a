"""The users of a trial: what they decided, and who of them resemble each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.kinds.trial import Trial, Uploaded
from leakrange.data import Names
from leakrange.metrics import Decisions

__all__ = ["decisions_of", "user_groups"]


def user_groups(
    trial: Trial, uploaded: Uploaded, about: Names, users: NDArray[np.intp] | slice
) -> NDArray[np.int64] | None:
    """Which of these ``users`` resemble each other, for an interval of what is told ``about`` them: see
    `leakrange.attacks.kinds.trial.Uploaded.groups`."""
    found = uploaded.groups(trial.model.recipe.data.name, about)
    return None if found is None else found[users]


def decisions_of(trial: Trial, uploaded: Uploaded, users: int | None = None) -> Decisions:
    """The decisions that the first ``users`` got, or all, and the true ones."""
    target, first = trial.model.target, slice(users)
    return Decisions(
        uploaded.decisions[first], uploaded.truth(target)[first], user_groups(trial, uploaded, target, first)
    )
