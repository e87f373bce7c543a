"""Membership inference against how far a teacher is better at the pictures that it has learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leakrange.papers.cells import Cell
from leakrange.papers.paper import Measured
from leakrange.papers.targets import Row
from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture, points, rules

__all__ = ["GAP_NOTES", "gap_note", "gap_picture"]

GAP_NOTES = (
    "95 % interval over people",
    "gap",
    "accuracy in training",
    "on other pictures",
    "verification of strangers",
    "TPR at 1 % FPR",
)
GAP = "generalisation_gap"


def gap_note(row: Row, measured: Measured) -> list[str]:
    """What stands behind the AUC of a row, means over the seeds: a recognition's teacher has no verification
    of its own, so the features' is shown."""
    cells = measured[row]
    verified = [
        cell
        for other, found in measured.items()
        for cell in found
        if other.table == row.table and other["teacher"] == row["teacher"] and other["service"] == "features"
    ]
    low, high, *taught = (
        _mean(cells, name) for name in ("auc_low", "auc_high", GAP, "training_accuracy", "teacher_accuracy")
    )
    interval = "–" if low is None or high is None else f"[{low:.3f}, {high:.3f}]"
    told = [*taught, _mean(verified, "honesty"), _mean(cells, "tpr_at_001")]
    return [interval, *("–" if value is None else f"{value:.3f}" for value in told)]


def gap_picture(title: str, measured: Measured) -> Picture | None:
    """A mark for each teacher and seed, with the interval over people, and a line through the means for each
    service; None where nothing was measured."""
    marks: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    services = list(dict.fromkeys(row["service"] for row in measured))
    for place, service in enumerate(services):
        of_service = {row: cells for row, cells in measured.items() if row["service"] == service}
        looks = {"colour": place, "marker": place, "line": service}
        for row, cells in of_service.items():
            tip = f"{service}, {row['teacher'] or 'plain'}"
            marks += [
                {"x": cell[GAP], "y": cell["auc"], "low": cell["auc_low"], "high": cell["auc_high"]}
                | {**looks, "tip": tip}
                for cell in cells
                if {GAP, "auc_low", "auc_high"} <= cell.keys()
            ]
        found = [(_mean(cells, GAP), _mean(cells, "auc")) for cells in of_service.values()]
        means += [
            {"x": x, "y": y, **looks, "tip": service}
            for x, y in sorted((x, y) for x, y in found if x is not None and y is not None)
        ]
    if not marks:
        return None
    x_axis = Axis("gap", "share", ends=_ends([mark["x"] for mark in marks]))
    y = Axis("AUC", ends=_ends([mark[end] for mark in marks for end in ("low", "high")] + [0.48]))
    bars = [mark | {"y": mark["low"], "y2": mark["high"]} for mark in marks]
    return picture(
        title,
        f"{title}: {', '.join(services)}",
        [
            rules([{"y": 0.5}], None, y, guide=True),
            lines(means, x_axis, y, width=1.2),
            rules(bars, x_axis, y),
            points(marks, x_axis, y, size=34),
        ],
        size=(460, 320),
        keys=[Key(name, colour=place, marker=place) for place, name in enumerate(services)],
    )


def _ends(values: Sequence[float]) -> tuple[float, float]:
    room = 0.04 * (max(values) - min(values)) or 0.01
    return min(values) - room, max(values) + room


def _mean(cells: Sequence[Cell], name: str) -> float | None:
    found = [cell[name] for cell in cells if name in cell]
    return float(np.mean(found)) if found else None
