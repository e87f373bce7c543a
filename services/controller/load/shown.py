"""The figures of a run under load as a file and as a picture."""

from __future__ import annotations

from dataclasses import asdict

import orjson

from leakrange.report.charts.standalone import standalone
from leakrange.report.charts.under_load import under_load
from leakrange.report.findings import find
from leakrange.report.load_table import as_csv, as_text, load_rows
from leakrange.scenario.results import RunResults
from leakrange.wire.errors import NotFound


def written(results: RunResults, form: str) -> bytes:
    """Return the figures as ``json``, ``csv`` or ``text``."""
    rows = load_rows(find(results))
    if form == "json":
        return orjson.dumps([asdict(row) for row in rows])
    return (as_csv(rows) if form == "csv" else as_text(rows)).encode()


def pictured(results: RunResults) -> str:
    """The picture of the run's first attack, as an SVG file. Raises `NotFound` where no attack has finished,
    or the run was not under load."""
    drawn = under_load(find(results))
    if not drawn:
        raise NotFound(f"run {results.run} has no attack under load that has finished")
    return standalone(drawn[0])
