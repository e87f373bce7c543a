"""A trial, judged: what was inferred against the truth that the users' edge clients registered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import Decisions, Guesses, Ranking, measured
from leakrange.metrics.views import viewed
from leakrange.scenario.results import TrialResult
from leakrange.wire.errors import LeakrangeError

__all__ = ["Inferred", "Observed", "judge", "registered"]


@dataclass(frozen=True)
class Observed:
    """The users' samples: true target and sensitive classes (V,), -1 where unknown, and the decisions they
    got (V,).
    """

    target: NDArray[np.int64]
    sensitive: NDArray[np.int64]
    decisions: NDArray[np.int64]


def registered(truths: Sequence[Mapping[str, Sequence[int]]], attribute: str) -> NDArray[np.int64]:
    """The users' classes of one attribute (V,), from the labels that came with each session of a stream.

    Raises `LeakrangeError` where a session came without them: an edge client of another version may load a
    data set that has other attributes.
    """
    for labels in truths:
        if attribute not in labels:
            raise LeakrangeError(
                f"the edge client registered no {attribute!r} of its users, only "
                f"{', '.join(map(repr, sorted(labels))) or 'nothing'}",
                hint="is it of another version than the controller?",
            )
    return np.concatenate([np.asarray(labels[attribute], dtype=np.int64) for labels in truths])


@dataclass(frozen=True)
class Inferred:
    """What an attack says: classes (V,) and scores (V, S)."""

    predicted: NDArray[np.int64]
    scores: NDArray[np.float32]


def judge(
    trial: TrialResult,
    observed: Observed,
    inferred: Inferred,
    classes: int,
    *,
    seen: int | None = None,
    spent: int | None = None,
) -> TrialResult:
    """``trial`` with its figures.

    ``seen`` limits the users to the first so many (an inside attack's budget); ``spent`` is what an outside
    attack had answered. Users whose sensitive class is unknown are left out of curiosity, those whose target
    is unknown out of honesty. Raises `LeakrangeError` where an attack answered for another number of users,
    or for none.
    """
    users = len(observed.sensitive) if seen is None else min(seen, len(observed.sensitive))
    if len(inferred.predicted) != len(observed.sensitive) or inferred.scores.shape[1:] != (classes,):
        raise LeakrangeError(
            f"{trial.attack} answered for {len(inferred.predicted)} users with scores of shape "
            f"{inferred.scores.shape}; there were {len(observed.sensitive)} users and {classes} classes"
        )
    sensitive = observed.sensitive[:users]
    known = sensitive >= 0
    truth, predicted = sensitive[known], inferred.predicted[:users][known]
    if len(truth) == 0:
        raise LeakrangeError(f"no user's {trial.sensitive!r} is known: there is nothing to judge by")
    guesses = Guesses(predicted, truth, classes)
    ranking = Ranking(inferred.scores[:users][known], truth)
    decisions = Decisions(observed.decisions[:users], observed.target[:users])
    return trial.model_copy(
        update={
            "state": "done",
            "victims": len(truth),
            "spent": users if spent is None else spent,
            "metrics": measured(decisions, guesses, ranking),
            "views": viewed(guesses, ranking),
        }
    )
