"""The report of a run: one HTML file that needs nothing but itself."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from leakrange.report import numbers
from leakrange.report.answer import caveats, sentences, tiles
from leakrange.report.findings import Findings, Subject, find, gap
from leakrange.report.sections import chart_sections
from leakrange.report.table import to_csv
from leakrange.scenario.results import RunResults, Summary
from leakrange.scenario.summary import identity

__all__ = ["render"]

FOLD_AFTER = 12
"""So many charts of a group are open; the rest fold away."""


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


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("leakrange.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {"numbers": numbers, "fold_after": FOLD_AFTER}
    return environment


def _asset(name: str) -> str:
    return (files("leakrange.report") / "templates" / name).read_text(encoding="utf-8")


def render(results: RunResults) -> str:
    """The run as one HTML page that makes no request; its own policy forbids that, and foreign scripts.

    Works at any state of a run: what has not been measured is said, never drawn empty.
    """
    findings = find(results)
    script = _asset("page.js")
    sections = chart_sections(findings)
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            results=results,
            findings=findings,
            sentences=sentences(findings),
            caveats=caveats(findings),
            tiles=tiles(findings),
            glance=_glance(findings),
            rows=[
                (row, len(findings.cells[identity(row)]), _row(row, findings)) for row in findings.summaries
            ],
            unfinished=[trial for trial in results.trials if trial.state in ("failed", "cancelled")],
            states=_states(results),
            sections=sections,
            ledger=_ledger(results.ledger),
            csv=base64.b64encode(to_csv(results).encode()).decode(),
            style=_asset("page.css"),
            script=script,
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        )
    )


def _states(results: RunResults) -> dict[str, int]:
    states = [trial.state for trial in results.trials]
    return {
        state: states.count(state)
        for state in ("done", "running", "queued", "failed", "cancelled")
        if state in states
    }


def _glance(findings: Findings) -> dict[str, list[Row]]:
    """Per task the subjects with any figure, each with one cell per defence."""
    rows: dict[str, list[Row]] = {}
    for subject in findings.subjects:
        found = [findings.best.get((subject, defence)) for defence in findings.defences]
        if any(found):
            task = f"{subject.data}: {subject.sensitive} hidden behind {subject.target}"
            cells = [None if row is None else _cell(row) for row in found]
            rows.setdefault(task, []).append(Row(subject, findings.label(subject), cells))
    return rows


def _cell(row: Summary) -> Cell:
    gain = row.nag[0] if row.nag else None
    curiosity = numbers.percent(row.curiosity[0] if row.curiosity else None)
    honesty = numbers.percent(row.honesty[0] if row.honesty else None)
    distance = gap(row)
    above = "no majority class" if distance is None else numbers.compared(distance, "the majority class")
    attack = f"{row.attack} ({row.knowledge}), budget {row.budget:,}, {numbers.count(row.count, 'seed')}"
    full = f"curiosity {curiosity} ({above}), honesty {honesty}; {attack}"
    return Cell(
        gain or 0.0, curiosity, f"honesty {numbers.share(row.honesty[0] if row.honesty else None)}", full
    )


def _row(row: Summary, findings: Findings) -> list[Figure]:
    majority = Figure(
        numbers.share(row.majority),
        full=repr(row.majority),
        order=-1.0 if row.majority is None else row.majority,
    )
    return [
        _figure(row.honesty, of_percent=True),
        _figure(row.curiosity, of_percent=True),
        majority,
        _figure(row.auc, of_percent=False),
        _figure(row.nag, of_percent=False),
        *(
            _figure(value, of_percent=True)
            for value in (row.tpr_at_001, row.tpr_at_0001)
            if findings.after_members
        ),
    ]


def _figure(
    value: tuple[float, float | None, tuple[float, float] | None] | None, *, of_percent: bool
) -> Figure:
    if value is None:
        return Figure(numbers.MISSING, full="not measured")
    mean, deviation, bounds = value
    full = f"mean {mean!r}, deviation {deviation!r}, 95 % interval {bounds!r}"
    return Figure(
        numbers.share(mean) if of_percent else numbers.unit(mean),
        numbers.deviation(deviation, of_percent=of_percent),
        numbers.interval(bounds, of_percent=of_percent),
        full,
        mean,
    )


def _ledger(ledger: list[dict[str, Any]]) -> tuple[list[str], list[list[int | str]]]:
    """Column names in order of appearance, and the rows: whole numbers as they are, the rest as text."""
    columns = list(dict.fromkeys(name for row in ledger for name in row))
    return columns, [[_plain(row.get(name)) for name in columns] for row in ledger]


def _plain(value: Any) -> int | str:
    if value is None:
        return numbers.MISSING
    return value if isinstance(value, int) and not isinstance(value, bool) else str(value)
