"""Trials as the rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leakrange.metrics import Estimate, with_unmeasurable
from leakrange.scenario.results import TrialResult

__all__ = ["OWN", "Column", "columns", "rows"]

OWN = ("id", *(name for name in TrialResult.model_fields if name not in ("id", "metrics", "views")))
"""The columns that every table has: what was varied, and how far the trial is."""
_NOTHING = dict.fromkeys(Estimate.model_fields)


@dataclass(frozen=True)
class Column:
    """A column of figures: its heading, and which ``part`` of the estimate of which metric it shows."""

    heading: str
    metric: str
    part: str

    def of(self, trial: TrialResult) -> float | None:
        """Its figure of a trial; None where that was not measured."""
        found = trial.metrics.get(self.metric)
        figure: float | None = (vars(found) if found is not None else _NOTHING)[self.part]
        return figure


def columns(trials: Sequence[TrialResult]) -> list[Column]:
    """A column of its name for each metric, and where it has intervals, ``_low`` and ``_high`` behind it."""
    found = []
    for name in with_unmeasurable(name for trial in trials for name in trial.metrics):
        found.append(Column(name, name, "value"))
        if any(name in trial.metrics and trial.metrics[name].low is not None for trial in trials):
            found += [Column(f"{name}_{end}", name, end) for end in ("low", "high")]
    return found


def rows(trials: Sequence[TrialResult]) -> list[dict[str, Any]]:
    """A row for each trial, by headings: `OWN`, then the figures. All rows have all columns."""
    figures = columns(trials)
    return [
        {name: getattr(trial, name) for name in OWN} | {each.heading: each.of(trial) for each in figures}
        for trial in trials
    ]
