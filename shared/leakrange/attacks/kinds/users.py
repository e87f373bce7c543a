"""Attackers who query records of their own and read what users upload; and these users: what they decided,
who of them resemble each other, and what is imputed to them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.controls import even_parts, imputed
from leakrange.attacks.kinds.cell import Cell, Needs
from leakrange.attacks.kinds.kind import Kind
from leakrange.attacks.kinds.trial import Trial, Uploaded
from leakrange.data import Names, names
from leakrange.jobs.samples import Span, Split
from leakrange.metrics import Ranking, UserDecisions

__all__ = ["decisions_of", "imputation_of", "own_records", "planned", "spent", "user_groups"]


def planned(kind: Kind, cell: Cell) -> Needs | None:
    """Queries about records of the attacker's own, and users' uploads; None where the budget buys too few.

    An attacker who does not know the defence learns from undefended answers, one who knows that users change
    their model from the outputs of a model that is changed in the same way.
    """
    split: Split = getattr(cell.target.parameters, "records", "auxiliary")
    available = cell.available(split)
    count = kind.buys(cell.target, cell.provider, cell.knowledge, cell.budget, available)
    if count is None:
        return None
    unaware = cell.knowledge == "unaware"
    span = Span(data=cell.data, split=split, start=0, stop=count)
    return Needs(
        streams=cell.uploads(cell.target.answers(cell.knowledge)),
        probes={"auxiliary": cell.ask(split, count, undefended=unaware, by="device")},
        asked={
            "span": span.model_dump(mode="json"),
            "downloads": cell.changes_model and not unaware,
        },
    )


def own_records(trial: Trial) -> Span:
    """The samples whose releases the attacker learns from."""
    return Span.model_validate(trial.needs.asked["span"])


def spent(trial: Trial) -> int:
    """The number of answers that were asked for; none of a model that was downloaded."""
    asks = 0 if trial.needs.asked.get("downloads") else len(trial.needs.probes["auxiliary"])
    return asks * own_records(trial).stop


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
