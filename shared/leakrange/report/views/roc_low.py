"""ROC curves at low false positive rates, where an attack names people without doubt (Carlini et al. 2022,
Section III)."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakrange.metrics import described
from leakrange.metrics.numbers import percent
from leakrange.report.charts.definition import Definition, Term
from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture, points, rules
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.report.views.roc import TERMS, Curves, curves_of, mean_curve, tabled
from leakrange.scenario.results import Curve, Summary

__all__ = ["marked"]

MARKS = {"tpr_at_001": 0.01, "tpr_at_0001": 0.001}
"""The metrics of membership whose figures are marked, and the false positive rates that they are at."""
PLACES = 61
WRITTEN = {0.01: "1 %", 0.001: "0.1 %"}


def marked(row: Summary, curves: list[Curve], rate: float, metric: str) -> float | None:
    """The true positive rate at a false positive rate: by the metric where trials have it, else read off the
    curves, the highest that lies at or below that rate; None where a curve has no point there."""
    if (found := row.mean(metric)) is not None:
        return found
    below = [
        [y for x, y in zip(curve.fpr, curve.tpr, strict=True) if 0.0 < x <= rate * (1 + 1e-9)]
        for curve in curves
    ]
    return float(np.mean([max(each) for each in below])) if all(below) else None


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    shown = curves_of(findings, subject)
    rates = [rate for name, rate in MARKS.items() if _any_at(shown, rate, name)]
    if not rates:
        return None
    lowest = min(rates) / 2
    x = Axis("false positive rate (log scale)", "share", ends=(lowest, 1.0), ticks=_ticks(lowest), log=True)
    y = Axis("true positive rate", "share", ends=(-0.01, 1.02), ticks=(0.0, 0.25, 0.5, 0.75, 1.0))
    grid = np.geomspace(lowest, 1.0, PLACES)
    drawn: list[dict[str, Any]] = []
    marks: list[dict[str, Any]] = []
    for defence, row, curves in shown:
        look = {"line": defence, "colour": findings.colour(defence)}
        drawn += [{"x": a, "y": b, "tip": defence, **look} for a, b in mean_curve(curves, grid)[1:]]
        for name, rate in MARKS.items():
            if (value := marked(row, curves, rate, name)) is not None:
                tip = f"{defence}: {percent(value)} found at {WRITTEN[rate]} false positives"
                marks.append({"x": rate, "y": value, "tip": tip, "colour": look["colour"], "marker": 0})
    guessing = [{"x": a, "y": a, "line": "guessing", "dash": 4, "tip": "guessing"} for a in grid.tolist()]
    title = findings.label(subject)
    said = "; ".join(str(mark["tip"]) for mark in marks)
    defined = Definition.of(findings, [row for _, row, _ in shown], [described(name) for name in MARKS])
    return picture(
        title,
        f"ROC curves of {title} on {subject.data} at low false positive rates. {said}.",
        [
            rules([{"x": rate} for rate in rates], x, None, guide=True),
            lines(guessing, x, y, width=1.2, muted=True),
            lines(drawn, x, y),
            points(marks, x, y, size=60),
        ],
        size=(300, 270),
        note="; ".join(dict.fromkeys(f"{row.attack} ({row.knowledge})" for _, row, _ in shown)),
        keys=[Key(defence, colour=findings.colour(defence)) for defence, *_ in shown],
        table=tabled(shown),
        definition=Definition((*TERMS, *defined.terms, READ), defined.counted, "None: means over seeds."),
    )


READ = Term(
    "marked points",
    "the metric where trials have it; else the highest point of the stored curve (101 points at most) that "
    "lies at or below the rate, a mean over seeds",
)


def _any_at(shown: Curves, rate: float, metric: str) -> bool:
    return any(marked(row, curves, rate, metric) is not None for _, row, curves in shown)


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
