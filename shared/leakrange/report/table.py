"""The trials as CSV, one row each, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io

from leakrange.metrics import unmeasurable
from leakrange.metrics.numbers import NOT_MEASURABLE
from leakrange.scenario.results import RunResults
from leakrange.scenario.table import OWN, columns
from leakrange.wire.views import cell

__all__ = ["to_csv"]


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
        writer.writerow([_in_full(value) for value in (*(getattr(trial, name) for name in OWN), *cells)])
    return written.getvalue()


def _in_full(value: str | float | None) -> str:
    return repr(value) if isinstance(value, float) else cell(value)
