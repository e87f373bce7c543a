"""The trials as CSV, one row each, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io

from leakrange.metrics import Estimate, unmeasurable, with_unmeasurable
from leakrange.metrics.numbers import NOT_MEASURABLE
from leakrange.scenario.results import RunResults, TrialResult

__all__ = ["OWN", "to_csv"]

OWN = ("id", *(name for name in TrialResult.model_fields if name not in ("id", "metrics", "views")))
"""The columns that every table has: what was varied, and how far the trial is."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(results: RunResults) -> str:
    """One row per trial with every single figure in full; views are in the JSON. Empty: not measured; "not
    measurable": the trial was too small for it (`leakrange.metrics.Metric.takes`).

    A metric has a column of its name, and where it has intervals, ``_low`` and ``_high`` behind it. Text that
    a spreadsheet would take for a formula gets an apostrophe in front, as spreadsheets do it themselves.
    """
    columns = _columns(results.trials)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow([*OWN, *(column for column, _, _ in columns)])
    for trial in results.trials:
        nothing = dict.fromkeys(Estimate.model_fields)
        found = {name: vars(estimate) for name, estimate in trial.metrics.items()}
        figures = [
            NOT_MEASURABLE if unmeasurable(metric, found) else found.get(metric, nothing)[part]
            for _, metric, part in columns
        ]
        writer.writerow([_cell(value) for value in (*(getattr(trial, name) for name in OWN), *figures)])
    return written.getvalue()


def _columns(trials: list[TrialResult]) -> list[tuple[str, str, str]]:
    """The columns of figures: heading, metric, and which part of its estimate."""
    columns = []
    for name in with_unmeasurable(name for trial in trials for name in trial.metrics):
        columns.append((name, name, "value"))
        if any(name in trial.metrics and trial.metrics[name].low is not None for trial in trials):
            columns += [(f"{name}_{end}", name, end) for end in ("low", "high")]
    return columns


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return repr(value)
