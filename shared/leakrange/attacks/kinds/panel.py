"""Figures of a panel of learners: how each did, on held-out records and on victims."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import accuracy, mean_auc
from leakrange.metrics.outcomes import HeldOut

__all__ = ["PANEL", "held_out", "viewed_panel"]

PANEL = "panel."
"""The prefix of names of `leakrange.attacks.attack.Inference.panel` among the arrays of a fit."""


def held_out(arrays: Mapping[str, NDArray[Any]]) -> list[HeldOut]:
    """How the chosen learner ranks records that it has not learnt from; nothing where no panel was fitted."""
    if PANEL + "ranks" not in arrays:
        return []
    return [HeldOut(arrays[PANEL + "ranks"], arrays[PANEL + "truth"], arrays.get(PANEL + "group"))]


def viewed_panel(arrays: Mapping[str, NDArray[Any]], truth: NDArray[np.integer]) -> dict[str, Any]:
    """The view "panel": a row for each learner, the chosen one first, of victims whose class is known (V,),
    -1 where not. A learner has no AUC where all victims are of one class."""
    if PANEL + "learner" not in arrays:
        return {}
    known = truth >= 0
    rows = []
    for number, learner in enumerate(arrays[PANEL + "learner"]):
        scores = arrays[PANEL + "scores"][number][known]
        rows.append(
            {
                "learner": str(learner),
                "releases": str(arrays[PANEL + "view"][number]),
                "held_out_auc": float(arrays[PANEL + "area"][number]),
                "auc": mean_auc(scores, truth[known]),
                "accuracy": accuracy(scores.argmax(axis=1), truth[known]),
                "chosen": number == 0,
            }
        )
    return {"panel": rows}
