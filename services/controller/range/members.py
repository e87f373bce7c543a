"""A membership attack, judged: the scores of a pool's records against those that the model was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import accuracy, confusion_matrix, majority_share, membership_report, nag, roc_curve
from leakrange.scenario.results import Curve, MembershipFigures, TrialResult
from leakrange.wire.errors import LeakrangeError
from services.controller.range.judge import POINTS

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
    honesty: float | None,
    spent: int,
    person: NDArray[np.integer] | None = None,
) -> TrialResult:
    """``trial`` with its figures, from one score a record (N,), higher meaning member, and the truth (N,).

    ``honesty`` is that of the decisions which users got under the same defence, ``spent`` what the attack had
    answered, ``person`` (N,) whose the records are, where somebody may have several. Raises `LeakrangeError`
    where it scored another number of records, or not all with a number.
    """
    if scores.shape != members.shape or not np.isfinite(scores).all():
        raise LeakrangeError(
            f"{trial.attack} gave {len(scores)} scores for {len(members)} records, or some that are no number"
        )
    report = membership_report(scores, members, trial.seed, person)
    truth = members[report.tested].astype(np.int64)
    predicted = report.guessed[report.tested].astype(np.int64)
    told, majority = accuracy(predicted, truth), majority_share(truth, 2)
    curve = roc_curve(scores, members, points=POINTS)
    return trial.model_copy(
        update={
            "state": "done",
            "victims": len(truth),
            "spent": spent,
            "honesty": honesty,
            "curiosity": told,
            "majority": majority,
            "nag": nag(told, majority),
            "auc": report.auc,
            "roc": Curve(fpr=curve.fpr.tolist(), tpr=curve.tpr.tolist()),
            "confusion": confusion_matrix(predicted, truth, 2).tolist(),
            "membership": MembershipFigures(
                records=len(members),
                auc_interval=report.auc_interval,
                unsigned_auc=report.unsigned_auc,
                tpr_at_001=report.tpr_at_001,
                tpr_at_0001=report.tpr_at_0001,
                balanced_accuracy=report.balanced_accuracy,
                precision=report.precision,
                recall=report.recall,
                f1=report.f1,
            ),
        }
    )
