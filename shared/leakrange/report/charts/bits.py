"""Bits: what a release can carry at most, beside what it is known to have carried."""

from __future__ import annotations

from typing import Any

from leakrange.metrics import described
from leakrange.metrics.numbers import figure
from leakrange.report.charts.definition import OVER_SEEDS, Definition, figures
from leakrange.report.charts.drawing import Axis, Key, Picture, picture, points, rules
from leakrange.report.findings import Findings, Subject
from leakrange.scenario.results import Summary

__all__ = ["BITS_KEYS", "bits"]

RECOVERED, CAPACITY = "bits_recovered", "bits_capacity"
LEAST = 0.1
"""Bits at the left end of the axis: a logarithmic one does not reach 0."""
BITS_KEYS = (
    Key("recovered by the strongest attacker, at least", colour=1, marker=0),
    Key("carried by a release, at most", colour=6, marker=4),
)


def bits(findings: Findings, data: str) -> list[Picture]:
    """One chart per provider on ``data`` of whose releases any trial has a bound."""
    made = (_draw(findings, subject) for subject in findings.of_data(data))
    return [drawn for drawn in made if drawn is not None]


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    marks: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    known, said, most = [], [], 10.0
    for defence in findings.defences:
        low, high = bounds(findings, subject, defence)
        here = [(0, low, "recovered at least"), (4, high, "carried at most")]
        shown = [(marker, value, words) for marker, value, words in here if value is not None]
        if not shown:
            continue
        known.append(defence)
        most = max(most, *(value for _, value, _ in shown))
        told = ", ".join(f"{figure(value, 'bits')} {words}" for _, value, words in shown)
        said.append(f"{defence}: {told}")
        for marker, value, _ in shown:
            look = {"colour": 1 if marker == 0 else 6, "marker": marker, "tip": said[-1]}
            marks.append({"x": max(LEAST, value), "y": defence, **look})
        if low is not None and high is not None:
            ends = {"x": max(LEAST, low), "x2": max(LEAST, high)}
            spans.append({**ends, "y": defence, "colour": 6})
    if not marks:
        return None
    x = Axis("bits per sample (log scale)", ends=(LEAST / 1.3, 1.5 * most), log=True, about=3)
    y = Axis("", names=known)
    measured = [described(RECOVERED), described(CAPACITY)]
    rows = [row for defence in known for row in _rows(findings, subject, defence)]
    name = findings.label(subject)
    return picture(
        name,
        f"Bits that a release of {name} on {subject.data} carries. {'; '.join(said)}.",
        [rules(spans, x, y), points(marks, x, y, size=72)],
        size=(300, 60 + 30 * len(known)),
        margins=(6, 14, 44, 98),
        table=figures(rows, measured),
        definition=Definition.of(findings, rows, measured, f"In the table: {OVER_SEEDS}"),
    )


def bounds(findings: Findings, subject: Subject, defence: str) -> tuple[float | None, float | None]:
    """What the strongest attacker with one release of each sample is known to have recovered of it, and what
    the release can carry, in bits; None where that was not measured."""
    rows = _rows(findings, subject, defence)
    low, high = (
        [value for row in rows if (value := row.mean(name)) is not None] for name in (RECOVERED, CAPACITY)
    )
    return max(low, default=None), max(high, default=None)


def _rows(findings: Findings, subject: Subject, defence: str) -> list[Summary]:
    """Of the attackers with one release of each sample, those with either figure."""
    return [
        row
        for row in findings.summaries
        if row.defence == defence and row.knowledge != "averaging" and Subject.of(row) == subject
        if RECOVERED in row.metrics or CAPACITY in row.metrics
    ]
