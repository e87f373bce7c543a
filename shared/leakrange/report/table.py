"""The trials as CSV, one row each, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io

from leakrange.metrics import unmeasurable
from leakrange.metrics.numbers import NOT_MEASURABLE
from leakrange.scenario.results import RunResults
from leakrange.scenario.table import OWN, columns

__all__ = ["to_csv"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(results: RunResults) -> str:
    """One row per trial with every single figure in full; views are in the JSON. Empty: not measured; "not
    measurable": the trial was too small for it (`leakrange.metrics.Metric.takes`).

    A metric has a column of its name, followed by ``_low`` and ``_high`` where it has intervals. Text that a
    spreadsheet would take for a formula gets an apostrophe in front, like in spreadsheets themselves.
    """
    figures = columns(results.trials)
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow([*OWN, *(column.heading for column in figures)])
    for trial in results.trials:
        values = {name: vars(estimate) for name, estimate in trial.metrics.items()}
        cells = [
            NOT_MEASURABLE if unmeasurable(column.metric, values) else column.of(trial) for column in figures
        ]
        writer.writerow([_cell(value) for value in (*(getattr(trial, name) for name in OWN), *cells)])
    return written.getvalue()


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return repr(value)
