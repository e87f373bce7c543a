"""A membership attack, judged: the scores of a pool's records against those that the model was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import Estimate, Membership, measured
from leakrange.metrics.views import viewed
from leakrange.scenario.results import TrialResult
from leakrange.wire.errors import LeakrangeError

__all__ = ["judge_members", "trained_on"]


def trained_on(record: dict[str, Any], pool: int) -> NDArray[np.bool_]:
    """Which of the ``pool`` images a model was trained on (pool,), by its training's record.

    Raises `LeakrangeError` where the record does not say, or speaks of another pool.
    """
    places = record.get("members")
    if not isinstance(places, list) or not all(isinstance(each, int) and 0 <= each < pool for each in places):
        raise LeakrangeError(f"the model's record does not tell which of {pool} images it was trained on")
    members = np.zeros(pool, dtype=bool)
    members[places] = True
    return members


def judge_members(
    trial: TrialResult,
    scores: NDArray[np.floating],
    members: NDArray[np.bool_],
    *,
    utility: dict[str, Estimate],
    spent: int,
    person: NDArray[np.integer] | None = None,
) -> TrialResult:
    """``trial`` with its figures, from one score a record (N,), higher meaning member, and the truth (N,).

    ``utility`` holds the metrics of what users got under the same defence, ``spent`` is what the attack had
    answered, ``person`` (N,) whose the records are, where somebody may have several. Raises `LeakrangeError`
    where it scored another number of records, or not all with a number.
    """
    if scores.shape != members.shape or not np.isfinite(scores).all():
        raise LeakrangeError(
            f"{trial.attack} gave {len(scores)} scores for {len(members)} records, or some that are no number"
        )
    membership = Membership(scores, members, person, trial.seed)
    return trial.model_copy(
        update={
            "state": "done",
            "victims": len(membership.guesses.truth),
            "spent": spent,
            "metrics": utility | measured(membership.guesses, membership),
            "views": viewed(membership.guesses, membership),
        }
    )
