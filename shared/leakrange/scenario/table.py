"""Trials as the rows of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakrange.metrics import Estimate, with_unmeasurable
from leakrange.scenario.results import TrialResult

__all__ = ["OWN", "FigureColumn", "columns", "columns_of", "rows"]

OWN = ("id", *(name for name in TrialResult.model_fields if name not in ("id", "metrics", "views")))
"""The columns that every table has: what was varied, and how far the trial is."""
_NOTHING = dict.fromkeys(Estimate.model_fields)


@dataclass(frozen=True)
class FigureColumn:
    """A column of figures: its heading, and which ``part`` of the estimate of which metric it shows."""

    heading: str
    metric: str
    part: str

    def of(self, trial: TrialResult) -> float | None:
        """Return its figure of a trial; None if that was not measured."""
        estimate = trial.metrics.get(self.metric)
        figure: float | None = (vars(estimate) if estimate is not None else _NOTHING)[self.part]
        return figure


def columns(trials: Sequence[TrialResult]) -> list[FigureColumn]:
    """Return a column for each metric, followed by ``_low`` and ``_high`` if it has intervals."""
    measured: dict[str, bool] = {}
    for trial in trials:
        for name, estimate in trial.metrics.items():
            measured[name] = measured.get(name, False) or estimate.low is not None
    return columns_of(measured)


def columns_of(measured: Mapping[str, bool]) -> list[FigureColumn]:
    """Return the same for the metrics that were ``measured``, each with whether it has intervals."""
    shown = []
    for name in with_unmeasurable(measured):
        shown.append(FigureColumn(name, name, "value"))
        if measured.get(name):
            shown += [FigureColumn(f"{name}_{end}", name, end) for end in ("low", "high")]
    return shown


def rows(
    trials: Sequence[TrialResult], figures: Sequence[FigureColumn] | None = None
) -> list[dict[str, Any]]:
    """Return a row for each trial by headings: `OWN`, then the ``figures``, by default those of the trials.
    All rows have all columns."""
    figures = columns(trials) if figures is None else figures
    return [
        {name: getattr(trial, name) for name in OWN} | {each.heading: each.of(trial) for each in figures}
        for trial in trials
    ]
