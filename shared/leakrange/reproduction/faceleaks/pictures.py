"""The pictures of FACELEAKS: distributions, ROC curves, and AUCs against what an attacker has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leakrange.report.charts.drawing import Axis, Key, Picture, area, bars, lines, picture, points, rules
from leakrange.report.views.roc import DIAGONAL, RATES, mean_curve
from leakrange.scenario.results import Curve as Roc

__all__ = ["against", "distributions", "rocs"]

SIZE = (380, 280)
Curve = tuple[Sequence[float], Sequence[float]]


def distributions(title: str, name: str, members: Sequence[float], others: Sequence[float]) -> Picture:
    """Densities of one class statistic among members and others (Figure 4)."""
    low, high = (float(end) for end in np.quantile([*members, *others], [0.0, 0.99]))
    edges = np.linspace(low, high, 25)
    drawn: list[dict[str, Any]] = []
    for place, values in enumerate((members, others)):
        heights, _ = np.histogram(np.clip(values, low, high), bins=edges, density=True)
        drawn += [
            {"x": float(left), "x2": float(right), "y": float(height), "colour": place + 1, "tip": ""}
            for left, right, height in zip(edges, edges[1:], heights, strict=False)
        ]
    y = Axis("density of people", ends=(0.0, 1.05 * max(row["y"] for row in drawn)), ticks=())
    return picture(
        title,
        f"{title}: {name} of members and others",
        [bars(drawn, Axis(name, ends=(low, high)), y, opacity=0.55)],
        size=SIZE,
        keys=(Key("members", colour=1), Key("others", colour=2)),
    )


def rocs(title: str, attacks: Sequence[tuple[str, Sequence[Curve]]]) -> Picture:
    """Mean ROC curves over seeds, a line an attack (Figures 3, 5 and 6)."""
    drawn = [
        {"x": x, "y": y, "line": name, "colour": place, "tip": name}
        for place, (name, curves) in enumerate(attacks)
        for x, y in mean_curve([Roc(fpr=list(fpr), tpr=list(tpr)) for fpr, tpr in curves])
    ]
    return picture(
        title,
        f"{title}: {', '.join(name for name, _ in attacks)}",
        [lines(DIAGONAL, *RATES, width=1.2, muted=True), lines(drawn, *RATES)],
        size=SIZE,
        keys=[Key(name, colour=place, dash=0) for place, (name, _) in enumerate(attacks)],
    )


def against(title: str, what: str, drawn: Sequence[tuple[str, Sequence[Sequence[float]]]]) -> Picture:
    """AUC against a number that an attacker has of something, on a logarithmic axis; lines of (number, mean,
    deviation)."""
    rows: list[dict[str, Any]] = [
        {"x": x, "y": mean, "deviation": deviation, "line": name, "colour": place, "tip": name}
        for place, (name, line) in enumerate(drawn)
        for x, mean, deviation in line
    ]
    band = [{**row, "y": row["y"] - row["deviation"], "y2": row["y"] + row["deviation"]} for row in rows]
    numbers = sorted({int(row["x"]) for row in rows})
    x = Axis(what, "count", ends=(numbers[0] / 1.1, numbers[-1] * 1.1), ticks=numbers, log=True)
    lowest, highest = min(0.48, *(row["y"] for row in band)), max(0.52, *(row["y2"] for row in band))
    y = Axis("AUC", ends=(lowest, highest))
    return picture(
        title,
        f"{title}: AUC against {what}",
        [
            rules([{"y": 0.5}], None, y, guide=True),
            area(band, x, y),
            lines(rows, x, y),
            points(rows, x, y, size=22),
        ],
        size=SIZE,
        keys=[Key(name, colour=place, dash=0) for place, (name, _) in enumerate(drawn)],
    )
