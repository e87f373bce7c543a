"""ROC curves at low false positive rates, where an attack names people without doubt (Carlini et al. 2022,
Section III)."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakrange.metrics import described
from leakrange.metrics.numbers import percent
from leakrange.report.charts.definition import definition_of
from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture, points, rules
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.report.views.roc import TERMS, Curves, curves_of, mean_curve, tabled
from leakrange.scenario.results import Curve, Summary
from leakrange.wire.views import Definition, Term

__all__ = ["marked"]

MARKS = {"tpr_at_001": 0.01, "tpr_at_0001": 0.001}
"""The metrics of membership whose figures are marked, and their false positive rates."""
PLACES = 61
WRITTEN = {0.01: "1 %", 0.001: "0.1 %"}


def marked(row: Summary, curves: list[Curve], rate: float, metric: str) -> float | None:
    """The true positive rate at a false positive rate: by the metric where trials have it, else from the
    curves, the highest that lies at or below that rate; None where a curve has no point there."""
    if (measured := row.mean(metric)) is not None:
        return measured
    below = [
        [y for x, y in zip(curve.fpr, curve.tpr, strict=True) if 0.0 < x <= rate * (1 + 1e-9)]
        for curve in curves
    ]
    return float(np.mean([max(each) for each in below])) if all(below) else None


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    cases = curves_of(findings, subject)
    rates = [rate for name, rate in MARKS.items() if _any_at(cases, rate, name)]
    if not rates:
        return None
    lowest = min(rates) / 2
    x = Axis("false positive rate (log scale)", "share", ends=(lowest, 1.0), ticks=_ticks(lowest), log=True)
    y = Axis("true positive rate", "share", ends=(-0.01, 1.02), ticks=(0.0, 0.25, 0.5, 0.75, 1.0))
    grid = np.geomspace(lowest, 1.0, PLACES)
    curve_points: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for defence, row, curves in cases:
        look = {"line": defence, "colour": findings.colour(defence)}
        curve_points += [{"x": a, "y": b, "tip": defence, **look} for a, b in mean_curve(curves, grid)[1:]]
        for name, rate in MARKS.items():
            if (value := marked(row, curves, rate, name)) is not None:
                tip = f"{defence}: {percent(value)} found at {WRITTEN[rate]} false positives"
                marks.append({"x": rate, "y": value, "tip": tip, "colour": look["colour"], "marker": 0})
    guessing = [{"x": a, "y": a, "line": "guessing", "dash": 4, "tip": "guessing"} for a in grid.tolist()]
    title = findings.label(subject)
    text = "; ".join(str(mark["tip"]) for mark in marks)
    defined = definition_of(findings, [row for _, row, _ in cases], [described(name) for name in MARKS])
    return picture(
        title,
        f"ROC curves of {title} on {subject.data} at low false positive rates. {text}.",
        [
            rules([{"x": rate} for rate in rates], x, None, guide=True),
            lines(guessing, x, y, width=1.2, muted=True),
            lines(curve_points, x, y),
            points(marks, x, y, size=60),
        ],
        size=(300, 270),
        note="; ".join(dict.fromkeys(f"{row.attack} ({row.knowledge})" for _, row, _ in cases)),
        keys=[Key(defence, colour=findings.colour(defence)) for defence, *_ in cases],
        table=tabled(cases),
        definition=Definition((*TERMS, *defined.terms, READ), defined.counted, "None: means over seeds."),
    )


READ = Term(
    "marked points",
    "the metric where trials have it; else the highest point of the stored curve (101 points at most) that "
    "lies at or below the rate, a mean over seeds",
)


def _any_at(cases: Curves, rate: float, metric: str) -> bool:
    return any(marked(row, curves, rate, metric) is not None for _, row, curves in cases)


def _ticks(lowest: float) -> list[float]:
    return [tick for tick in (0.001, 0.01, 0.1, 1.0) if tick >= lowest]


views.register("roc-low")(
    View(
        "Low false positive rates",
        "The same ROC curves, means over seeds, on a logarithmic scale: what share is found while hardly "
        "anybody is taken for one by mistake. Marked: 1 % and 0.1 % false positives, where there were enough "
        "others to measure them; dotted: guessing.",
        _draw,
    )
)
