"""The pictures of a paper's page: ROC curves, and figures against a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from leakrange.papers.cells import Cell
from leakrange.report.charts.drawing import Axis, Key, Picture, area, lines, picture, points, rules
from leakrange.report.views.roc import DIAGONAL, RATES, mean_curve
from leakrange.scenario.results import Curve

__all__ = ["against", "rocs"]

SIZE = (380, 280)


def rocs(title: str, attacks: Mapping[str, Sequence[Cell]]) -> Picture:
    """The mean ROC curves of attacks over the cells of each."""
    drawn = [
        {"x": x, "y": y, "line": name, "colour": place, "tip": name}
        for place, (name, cells) in enumerate(attacks.items())
        for x, y in mean_curve([Curve.model_validate(cell["roc"]) for cell in cells])
    ]
    return picture(
        title,
        f"{title}: {', '.join(attacks)}",
        [lines(DIAGONAL, *RATES, width=1.2, muted=True), lines(drawn, *RATES)],
        size=SIZE,
        keys=[Key(name, colour=place, dash=0) for place, name in enumerate(attacks)],
    )


def against(title: str, counted: str, drawn: Mapping[str, Mapping[float, Sequence[Cell]]]) -> Picture:
    """AUC against the number of something ``counted`` that an attacker has, on a logarithmic axis: a line for
    each name, through the means of the cells at each number, with a band of their deviations."""
    rows: list[dict[str, Any]] = []
    for place, (name, line) in enumerate(drawn.items()):
        for x, cells in line.items():
            values = [cell["auc"] for cell in cells]
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
            mean = float(np.mean(values))
            rows.append({"x": x, "y": mean, "spread": spread, "line": name, "colour": place, "tip": name})
    band = [{**row, "y": row["y"] - row["spread"], "y2": row["y"] + row["spread"]} for row in rows]
    numbers = sorted({int(row["x"]) for row in rows})
    x_axis = Axis(counted, "count", ends=(numbers[0] / 1.1, numbers[-1] * 1.1), ticks=numbers, log=True)
    lowest, highest = min(0.48, *(row["y"] for row in band)), max(0.52, *(row["y2"] for row in band))
    y = Axis("AUC", ends=(lowest, highest))
    return picture(
        title,
        f"{title}: AUC against {counted}",
        [
            rules([{"y": 0.5}], None, y, guide=True),
            area(band, x_axis, y),
            lines(rows, x_axis, y),
            points(rows, x_axis, y, size=22),
        ],
        size=SIZE,
        keys=[Key(name, colour=place, dash=0) for place, name in enumerate(drawn)],
    )
