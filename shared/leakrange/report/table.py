"""The trials as CSV, one row each, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io

from leakrange.scenario.results import RunResults, TrialResult

__all__ = ["COLUMNS", "to_csv"]

COLUMNS = tuple(name for name in TrialResult.model_fields if name not in ("roc", "confusion"))
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(results: RunResults) -> str:
    """One row per trial with every single figure in full (empty: not measured); curves are in the JSON.

    Text that a spreadsheet would take for a formula gets an apostrophe in front, as spreadsheets do it
    themselves.
    """
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for trial in results.trials:
        writer.writerow([_cell(getattr(trial, name)) for name in COLUMNS])
    return written.getvalue()


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return repr(value)
