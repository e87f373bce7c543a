"""The report of a run: one self-contained HTML file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leakrange.metrics import Metric, OverSeeds, numbers, unmeasurable
from leakrange.report.answer import caveats, sentences
from leakrange.report.findings import Findings, Subject, chance, find, gap, leak, utility, utility_metric
from leakrange.report.rendering import page
from leakrange.report.sections import chart_sections
from leakrange.report.table import to_csv
from leakrange.report.tiles import tiles
from leakrange.scenario.results import RunResults, Summary
from leakrange.scenario.summary import identity

__all__ = ["render"]


@dataclass(frozen=True)
class Cell:
    """One field of the table at a glance: the normalised gain, what it stands on, and its full text."""

    shade: float
    figure: str
    beside: str
    full: str


@dataclass(frozen=True)
class Row:
    """One provider in the table at a glance; None where a defence was not measured."""

    subject: Subject
    label: str
    cells: list[Cell | None]


@dataclass(frozen=True)
class Figure:
    """A figure in the table of all results: mean, deviation, interval, and what sorts the column."""

    mean: str
    deviation: str = ""
    interval: str = ""
    full: str = ""
    order: float = -1.0


def render(results: RunResults) -> str:
    """The run as one HTML page. It makes no request; its own policy forbids that, and foreign scripts.

    Works at any state of a run: it says what has not been measured, and draws no empty charts.
    """
    findings = find(results)
    return page(
        "page.html.j2",
        script="page.js",
        results=results,
        findings=findings,
        sentences=sentences(findings),
        caveats=caveats(findings),
        tiles=tiles(findings),
        glance=_glance(findings),
        endless=[metric.title for metric in _leakages(findings) if metric.best is None],
        rows=[
            (
                row,
                len(findings.cells[identity(row)]),
                [_figure(row.metrics, metric) for metric in findings.metrics],
            )
            for row in findings.summaries
        ],
        unfinished=[trial for trial in results.trials if trial.state in ("failed", "refused", "cancelled")],
        states=_states(results),
        sections=chart_sections(findings),
        ledger=_ledger(results.ledger),
        csv=base64.b64encode(to_csv(results).encode()).decode(),
    )


def _states(results: RunResults) -> dict[str, int]:
    states = [trial.state for trial in results.trials]
    return {
        state: states.count(state)
        for state in ("done", "running", "queued", "failed", "refused", "cancelled")
        if state in states
    }


def _glance(findings: Findings) -> dict[str, list[Row]]:
    """Per task the subjects with any figure, each with one cell per defence."""
    rows: dict[str, list[Row]] = {}
    for subject in findings.subjects:
        found = [findings.best.get((subject, defence)) for defence in findings.defences]
        if any(found):
            asked = f"{subject.sensitive} hidden behind {subject.target}"
            if subject.metric.role == "suspicion":
                asked = f"audits for {subject.target}"
            task = f"{subject.data}: {asked}, {subject.metric.title}"
            cells = [None if row is None else _cell(row, subject, findings) for row in found]
            rows.setdefault(task, []).append(Row(subject, findings.label(subject), cells))
    return rows


def _leakages(findings: Findings) -> list[Metric]:
    return list(dict.fromkeys(subject.metric for subject in findings.subjects))


def _cell(row: Summary, subject: Subject, findings: Findings) -> Cell:
    metric, served = subject.metric, utility_metric(row)
    leaked, used = leak(row), utility(row)
    value = numbers.figure(leaked.mean if leaked else None, metric.unit)
    distance = gap(row)
    level = numbers.figure(chance(row), metric.unit)
    above = (
        "no chance level"
        if distance is None
        else numbers.compared(distance if metric.higher else -distance, f"chance ({level})", metric.unit)
    )
    got = "utility not measured"
    if served is not None and used is not None:
        got = f"{served.title} {numbers.figure(used.mean, served.unit)}"
    attack = f"{row.attack} ({row.knowledge}), budget {row.budget:,}, {numbers.count(row.count, 'seed')}"
    full = f"{metric.title} {value} ({above}), {got}; {attack}"
    beside = got.removesuffix(f"{numbers.SPACE}%")
    return Cell(_shade(row, subject, findings), value, beside, full)


def _shade(row: Summary, subject: Subject, findings: Findings) -> float:
    """The normalised gain; where the scale has no end, the distance from chance against the greatest there
    is."""
    if subject.metric.best is not None:
        return findings.gain(row) or 0.0
    same = (each for (other, _), each in findings.best.items() if other.leakage == subject.leakage)
    most = max(gap(each) or 0.0 for each in same)
    return max(0.0, gap(row) or 0.0) / most if most > 0 else 0.0


def _figure(there: Mapping[str, OverSeeds], metric: Metric) -> Figure:
    if unmeasurable(metric.name, there):
        return Figure(numbers.NOT_MEASURABLE, full=f"takes {metric.takes}")
    value = there.get(metric.name)
    if value is None:
        return Figure(numbers.MISSING, full="not measured")
    full = f"mean {value.mean!r}, deviation {value.deviation!r}, 95 % interval {value.interval!r}"
    return Figure(
        numbers.bare(value.mean, metric.unit),
        numbers.deviation(value.deviation, metric.unit),
        numbers.interval(value.interval, metric.unit),
        full,
        value.mean,
    )


def _ledger(ledger: list[dict[str, Any]]) -> tuple[list[str], list[list[int | str]]]:
    """Column names in order of appearance, and the rows: whole numbers as they are, the rest as text."""
    columns = list(dict.fromkeys(name for row in ledger for name in row))
    return columns, [[_plain(row.get(name)) for name in columns] for row in ledger]


def _plain(value: Any) -> int | str:
    if value is None:
        return numbers.MISSING
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)
