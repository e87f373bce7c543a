"""Bits: the most that a release can carry, beside the least that it has carried."""

from __future__ import annotations

from typing import Any

from leakrange.metrics import described
from leakrange.metrics.numbers import figure
from leakrange.report.charts.definition import OVER_SEEDS, definition_of, figures
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
    """One chart per provider on ``data`` whose releases have a bound in some trial."""
    charts = (_draw(findings, subject) for subject in findings.of_data(data))
    return [chart for chart in charts if chart is not None]


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    marks: list[dict[str, Any]] = []
    spans: list[dict[str, Any]] = []
    shown_defences, texts, most = [], [], 10.0
    for defence in findings.defences:
        low, high = bounds(findings, subject, defence)
        candidates = [(0, low, "recovered at least"), (4, high, "carried at most")]
        values = [(marker, value, words) for marker, value, words in candidates if value is not None]
        if not values:
            continue
        shown_defences.append(defence)
        most = max(most, *(value for _, value, _ in values))
        text = ", ".join(f"{figure(value, 'bits')} {words}" for _, value, words in values)
        texts.append(f"{defence}: {text}")
        for marker, value, _ in values:
            look = {"colour": 1 if marker == 0 else 6, "marker": marker, "tip": texts[-1]}
            marks.append({"x": max(LEAST, value), "y": defence, **look})
        if low is not None and high is not None:
            ends = {"x": max(LEAST, low), "x2": max(LEAST, high)}
            spans.append({**ends, "y": defence, "colour": 6})
    if not marks:
        return None
    x = Axis("bits per sample (log scale)", ends=(LEAST / 1.3, 1.5 * most), log=True, about=3)
    y = Axis("", names=shown_defences)
    measured = [described(RECOVERED), described(CAPACITY)]
    rows = [row for defence in shown_defences for row in _rows(findings, subject, defence)]
    name = findings.label(subject)
    return picture(
        name,
        f"Bits that a release of {name} on {subject.data} carries. {'; '.join(texts)}.",
        [rules(spans, x, y), points(marks, x, y, size=72)],
        size=(300, 60 + 30 * len(shown_defences)),
        margins=(6, 14, 44, 98),
        table=figures(rows, measured),
        definition=definition_of(findings, rows, measured, f"In the table: {OVER_SEEDS}"),
    )


def bounds(findings: Findings, subject: Subject, defence: str) -> tuple[float | None, float | None]:
    """The bits that the strongest attacker with one release of each sample has recovered of it, and the bits
    that the release can carry; None where that was not measured."""
    rows = _rows(findings, subject, defence)
    low, high = (
        [value for row in rows if (value := row.mean(name)) is not None] for name in (RECOVERED, CAPACITY)
    )
    return max(low, default=None), max(high, default=None)


def _rows(findings: Findings, subject: Subject, defence: str) -> list[Summary]:
    """The rows of attackers with one release of each sample that have either figure."""
    return [
        row
        for row in findings.summaries
        if row.defence == defence and row.knowledge != "averaging" and Subject.of(row) == subject
        if RECOVERED in row.metrics or CAPACITY in row.metrics
    ]
