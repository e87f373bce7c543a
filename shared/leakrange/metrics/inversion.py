"""Whom drawings of people show: by a classifier of other pictures of them, and by their nearest pictures."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics.clusters import WILSON, share_interval
from leakrange.metrics.estimate import Estimate
from leakrange.metrics.registry import metric

__all__ = ["JUDGES", "DrawnPeople"]

People = NDArray[np.integer]


@dataclass(frozen=True)
class DrawnPeople:
    """Drawings of T ``wanted`` people (T,), by number. ``drawn``: whom each judge of `JUDGES` sees in each
    (T,). ``unasked``: whom it sees in drawings that were made without the model (U,). ``shown``: whom it sees
    in pictures (R,), in which really are the people ``real`` (R,)."""

    wanted: People
    drawn: dict[str, People]
    unasked: dict[str, People]
    shown: dict[str, People]
    real: People


JUDGES = {
    "evaluator": "the evaluator, a classifier of other pictures of the same people",
    "neighbour": "the nearest of the model’s training pictures, by cosine of the evaluator’s features",
    "pixels": "the nearest of the model’s training pictures, pixel by pixel",
}
"""Who says which person a drawing shows, in words."""
CLAIMS = {
    "evaluator": "draws people of whom an evaluator names {value} right",
    "neighbour": "draws people of whom {value} are nearest to pictures of themselves",
}
"""What reports say of an attack, first by the usual judge, then by a stricter one."""


def _drawn(outcome: DrawnPeople, judge: str) -> Estimate:
    right = outcome.drawn[judge] == outcome.wanted
    return Estimate.within(float(right.mean()), share_interval(right))


def _unasked(outcome: DrawnPeople, judge: str) -> float:
    """The mean over all pairs of such a drawing and a wanted person: it was made for none of them."""
    return float(np.isin(outcome.unasked[judge], outcome.wanted).mean() / len(outcome.wanted))


def _shown(outcome: DrawnPeople, judge: str) -> Estimate | None:
    right = outcome.shown[judge] == outcome.real
    return Estimate.within(float(right.mean()), share_interval(right)) if len(right) else None


for _place, (_judge, _words) in enumerate(JUDGES.items()):
    _name = f"drawn_{_judge}"
    metric(
        _name, measures=DrawnPeople, title=f"drawings right by {_judge}", unit="share", role="leakage",
        rank=51 + _place, chance=f"{_name}_unasked", interval=WILSON,
        equation=f"share of drawings in which {_words}, is of the wanted person",
        claim=CLAIMS.get(_judge, ""),
    )(partial(_drawn, judge=_judge))  # fmt: skip
    metric(
        f"{_name}_unasked", measures=DrawnPeople, title=f"share right by {_judge} without asking",
        unit="share",
        role="context", rank=54, equation="the same of drawings that were made without asking",
    )(partial(_unasked, judge=_judge))  # fmt: skip
    metric(
        f"{_name}_real", measures=DrawnPeople, title=f"real pictures right by {_judge}", unit="share",
        role="context", rank=54, interval=WILSON, equation="the same of real pictures of these people",
    )(partial(_shown, judge=_judge))  # fmt: skip


@metric(
    "drawn_evaluator_alone", measures=DrawnPeople, title="right by evaluator alone", unit="share",
    role="context", rank=54, interval=WILSON,
    equation="share of drawings that the evaluator names right, and the nearest neighbour does not",
)  # fmt: skip
def _alone(outcome: DrawnPeople) -> Estimate:
    alone = (outcome.drawn["evaluator"] == outcome.wanted) & (outcome.drawn["neighbour"] != outcome.wanted)
    return Estimate.within(float(alone.mean()), share_interval(alone))
