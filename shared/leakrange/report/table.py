"""The trials as CSV, one row each, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io

from leakrange.scenario.results import MembershipFigures, RunResults, TrialResult

__all__ = ["COLUMNS", "OWN", "to_csv"]

OWN = tuple(name for name in TrialResult.model_fields if name not in ("roc", "confusion", "membership"))
MEMBERSHIP = tuple(name for name in MembershipFigures.model_fields if name != "auc_interval")
"""Figures that attacks on membership alone have."""
COLUMNS = (*OWN, "auc_low", "auc_high", *MEMBERSHIP)
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
        found = trial.membership
        low, high = (None, None) if found is None else found.auc_interval
        figures = [None if found is None else getattr(found, name) for name in MEMBERSHIP]
        writer.writerow([_cell(value) for value in (*(getattr(trial, n) for n in OWN), low, high, *figures)])
    return written.getvalue()


def _cell(value: str | float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return repr(value)
