"""The report of a run: one self-contained HTML file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leakrange.metrics import Metric, OverSeeds, numbers, unmeasurable
from leakrange.report.contents import Contents, read
from leakrange.report.rendering import page
from leakrange.report.table import to_csv
from leakrange.scenario.results import RunResults
from leakrange.scenario.summary import identity

__all__ = ["SCRIPT", "render", "rendered"]

SCRIPT = "page.js"
"""The asset that is the page's one script."""


@dataclass(frozen=True)
class Figure:
    """A figure in the table of all results: mean, deviation, interval, and the number that sorts the
    column."""

    mean: str
    deviation: str = ""
    interval: str = ""
    full: str = ""
    order: float = -1.0


def render(results: RunResults) -> str:
    """The run as one HTML page. It makes no request; its content security policy forbids that, and foreign
    scripts.

    It can show any state of a run: it names what has not been measured, and draws no empty charts.
    """
    return rendered(read(results))


def rendered(contents: Contents) -> str:
    """The page of contents that were read before."""
    results, findings = contents.results, contents.findings
    return page(
        "page.html.j2",
        script=SCRIPT,
        results=results,
        findings=findings,
        headline=contents.headline,
        sentences=contents.sentences,
        caveats=contents.caveats,
        part=contents.part,
        tiles=contents.tiles,
        glance=contents.glance,
        endless=contents.endless,
        rows=[
            (
                row,
                len(findings.cells[identity(row)]),
                [_figure(row.metrics, metric) for metric in findings.metrics],
            )
            for row in findings.summaries
        ],
        unfinished=[trial for trial in results.trials if trial.state in ("failed", "refused", "cancelled")],
        states=contents.states,
        sections=contents.sections,
        ledger=_ledger(results.ledger),
        csv=base64.b64encode(to_csv(results).encode()).decode(),
    )


def _figure(figures: Mapping[str, OverSeeds], metric: Metric) -> Figure:
    if unmeasurable(metric.name, figures):
        return Figure(numbers.NOT_MEASURABLE, full=f"takes {metric.takes}")
    value = figures.get(metric.name)
    if value is None:
        return Figure(numbers.MISSING, full="not measured")
    full = f"mean {value.mean!r}, deviation {value.deviation!r}, 95 % interval {value.interval!r}"
    return Figure(
        numbers.bare(value.mean, metric.unit),
        numbers.deviation(value.deviation, metric.unit),
        numbers.interval(value.interval, metric.unit, metric.lowest),
        full,
        value.mean,
    )


def _ledger(ledger: list[dict[str, Any]]) -> tuple[list[str], list[list[int | str]]]:
    """Column names in order of appearance, and the rows: whole numbers unchanged, the rest as text."""
    columns = list(dict.fromkeys(name for row in ledger for name in row))
    return columns, [[_plain(row.get(name)) for name in columns] for row in ledger]


def _plain(value: Any) -> int | str:
    if value is None:
        return numbers.MISSING
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)
