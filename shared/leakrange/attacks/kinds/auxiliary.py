"""Attackers who query records of their own, and read what users upload."""

from __future__ import annotations

from leakrange.attacks.kinds.cell import Cell, Needs
from leakrange.attacks.kinds.kind import Kind
from leakrange.attacks.kinds.trial import Trial
from leakrange.jobs.samples import Span, Split

__all__ = ["own_records", "planned", "spent"]


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
