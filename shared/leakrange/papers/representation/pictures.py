"""The pictures of TAPPFL's page: losses against λ, and test accuracy against inference accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from leakrange.papers.cells import Cell
from leakrange.papers.targets import PaperRow
from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture, points

__all__ = ["compared", "tradeoffs"]

SIZE = (380, 280)
LOSSES = {
    "adversary_cross_entropy": "Cross-entropy of devices’ own adversaries (nats)",
    "kept_loss": "Jensen-Shannon loss of devices’ critics",
}
"""Titles of Figure 2's losses, by the metric that holds each: both are greater the less is told."""


def tradeoffs(measured: Mapping[PaperRow, Sequence[Cell]], names: Mapping[PaperRow, str]) -> list[Picture]:
    """Each loss against λ: a line for each name, through the means of its seeds."""
    drawn = []
    for metric, title in LOSSES.items():
        rows = [
            {
                "x": row.number("level"),
                "y": fmean(held),
                "line": names[row],
                "colour": list(dict.fromkeys(names.values())).index(names[row]),
                "tip": f"{names[row]}, λ = {row['level']}",
            }
            for row, cells in measured.items()
            if (held := [cell[metric] for cell in cells if metric in cell])
        ]
        if rows:
            drawn.append(_picture(title, rows, Axis("λ", ends=(0.0, 1.0)), _axis("loss", rows, "y")))
    return drawn


def compared(measured: Mapping[PaperRow, Sequence[Cell]]) -> list[Picture]:
    """Test accuracy against the fresh attacker's inference accuracy: a line for each method."""
    methods = list(dict.fromkeys(row["method"] for row, cells in measured.items() if cells))
    rows = [
        {
            "x": 100 * fmean(cell["curiosity"] for cell in cells),
            "y": 100 * fmean(cell["honesty"] for cell in cells),
            "line": row["method"],
            "colour": methods.index(row["method"]),
            "tip": f"{row['method']}, {row['level']}",
        }
        for row, cells in measured.items()
        if cells
    ]
    if not rows:
        return []
    x, y = _axis("inference accuracy, %", rows, "x"), _axis("test accuracy, %", rows, "y")
    return [_picture("Test accuracy against attribute inference", rows, x, y)]


def _picture(title: str, rows: list[dict[str, Any]], x: Axis, y: Axis) -> Picture:
    named = {row["line"]: row["colour"] for row in rows}
    return picture(
        title,
        f"{title}: {', '.join(named)}",
        [lines(rows, x, y), points(rows, x, y, size=26)],
        size=SIZE,
        keys=[Key(name, colour=colour, dash=0) for name, colour in named.items()],
    )


def _axis(title: str, rows: list[dict[str, Any]], name: str) -> Axis:
    values = [row[name] for row in rows]
    room = 0.05 * (max(values) - min(values) or 1.0)
    return Axis(title, ends=(min(values) - room, max(values) + room))
