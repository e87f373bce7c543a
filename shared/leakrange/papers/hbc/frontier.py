"""Honesty against curiosity: the results of each recipe as the weight of the hidden attribute grows."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakrange.papers.paper import Measured
from leakrange.papers.targets import PaperRow
from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture, points, rules

__all__ = ["frontiers"]

SIZE = (420, 300)
NAMES = {"published": "published recipe", "warm": "warm start"}


def frontiers(measured: Measured) -> list[Picture]:
    """One picture for each pair of attributes, with a line for each recipe and a point for each weight: the
    mean of its seeds. A guide stands at the majority of the hidden attribute."""
    drawn = []
    for y, s in dict.fromkeys((row["y"], row["s"]) for row in measured):
        selected = {row: cells for row, cells in measured.items() if (row["y"], row["s"]) == (y, s) and cells}
        if selected:
            drawn.append(_picture(f"{s} behind {y}", selected))
    return drawn


def _picture(title: str, measured: Measured) -> Picture:
    rows = [_point(row, measured) for row in sorted(measured, key=lambda row: -row.number("beta_y"))]
    majority = float(np.mean([cell["majority"] for cells in measured.values() for cell in cells]))
    x = Axis("honesty", "share", ends=_ends([row["x"] for row in rows]))
    y = Axis("curiosity", "share", ends=_ends([majority, *(row["y"] for row in rows)]))
    return picture(
        f"Frontier, {title}",
        f"Honesty and curiosity of soft outputs, {title}, by recipe and weight",
        [rules([{"y": majority}], None, y, guide=True), lines(rows, x, y), points(rows, x, y)],
        size=SIZE,
        keys=[Key(name, colour=place, dash=0) for place, name in enumerate(NAMES.values())],
        note="Dashed: the majority of the hidden attribute",
    )


def _point(row: PaperRow, measured: Measured) -> dict[str, Any]:
    name = NAMES[row["recipe"]]
    return {
        "x": float(np.mean([cell["honesty"] for cell in measured[row]])),
        "y": float(np.mean([cell["curiosity"] for cell in measured[row]])),
        "line": name,
        "colour": list(NAMES).index(row["recipe"]),
        "tip": f"{name}, β^y {row.number('beta_y'):g}",
    }


def _ends(values: list[float]) -> tuple[float, float]:
    return min(values) - 0.02, max(values) + 0.02
