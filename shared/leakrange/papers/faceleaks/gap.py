"""Membership inference against its causes: how much better a teacher is at the pictures that it has learned,
and how many labels are right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from leakrange.papers.cells import Cell, figures_of, mean_text
from leakrange.papers.paper import Measured
from leakrange.papers.targets import PaperRow
from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture, points, rules

__all__ = [
    "gap_note",
    "gap_picture",
    "labels_note",
    "labels_picture",
]

GAP = "generalisation_gap"


def gap_note(row: PaperRow, measured: Measured) -> list[str]:
    """The notes beside the AUC of a row, means over the seeds. A recognition's teacher has no verification of
    its own, so the features' is shown."""
    cells = measured[row]
    verified = [
        cell
        for other, row_cells in measured.items()
        for cell in row_cells
        if other.table == row.table and other["teacher"] == row["teacher"] and other["service"] == "features"
    ]
    means = [mean_text(cells, name) for name in (GAP, "training_accuracy", "teacher_accuracy")]
    return [_interval(cells), *means, mean_text(verified, "honesty")]


def labels_note(cells: Sequence[Cell]) -> list[str]:
    """The notes beside the AUC of a row with deduced labels, means over the seeds."""
    return [_interval(cells), mean_text(cells, "people", decimals=1), mean_text(cells, "labels_right")]


def _interval(cells: Sequence[Cell]) -> str:
    """The mean of either end of the intervals of the cells; a dash where they have none."""
    low, high = (mean_text(cells, name) for name in ("auc_low", "auc_high"))
    return "–" if "–" in (low, high) else f"[{low}, {high}]"


def gap_picture(title: str, measured: Measured) -> Picture | None:
    """AUC against the gap, with a line through the means of each service."""
    groups: dict[str, dict[PaperRow, Sequence[Cell]]] = {}
    for row, cells in measured.items():
        groups.setdefault(row["service"], {})[row] = cells
    return _against(title, "gap", GAP, groups, joined=True)


def labels_picture(measured: Measured) -> Picture | None:
    """AUC against the share of labels that are right, for each teacher; labels that were granted are all
    right."""
    groups: dict[str, dict[PaperRow, Sequence[Cell]]] = {}
    for row, cells in measured.items():
        completed = [{"labels_right": 1.0, **cell} for cell in cells]
        groups.setdefault(row["teacher"] or "teacher of the other tables", {})[row] = completed
    return _against("AUC against labels that are right", "labels that are right", "labels_right", groups)


def _against(
    title: str, axis_title: str, name: str, groups: Mapping[str, Measured], *, joined: bool = False
) -> Picture | None:
    """A mark for every cell that has a figure of that name and an interval over people; where they are
    ``joined``, a line through the means of each group's rows. None where there is nothing to draw."""
    marks: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    for place, (group, rows) in enumerate(groups.items()):
        looks = {"colour": place, "marker": place, "line": group}
        for row, cells in rows.items():
            tip = ", ".join(filter(None, (group, row["labels"], row["teacher"])))
            marks += [
                {"x": cell[name], "y": cell["auc"], "low": cell["auc_low"], "high": cell["auc_high"]}
                | {**looks, "tip": tip}
                for cell in cells
                if {name, "auc_low", "auc_high"} <= cell.keys()
            ]
        pairs = [(_mean(cells, name), _mean(cells, "auc")) for cells in rows.values()]
        means += [
            {"x": x, "y": y, **looks, "tip": group}
            for x, y in sorted((x, y) for x, y in pairs if x is not None and y is not None)
        ]
    if not marks:
        return None
    x_axis = Axis(axis_title, "share", ends=_ends([mark["x"] for mark in marks]))
    y = Axis("AUC", ends=_ends([mark[end] for mark in marks for end in ("low", "high")] + [0.48]))
    bars = [mark | {"y": mark["low"], "y2": mark["high"]} for mark in marks]
    return picture(
        title,
        f"{title}: {', '.join(groups)}",
        [
            rules([{"y": 0.5}], None, y, guide=True),
            *([lines(means, x_axis, y, width=1.2)] if joined else []),
            rules(bars, x_axis, y),
            points(marks, x_axis, y, size=34),
        ],
        size=(460, 320),
        keys=[Key(group, colour=place, marker=place) for place, group in enumerate(groups)],
    )


def _ends(values: Sequence[float]) -> tuple[float, float]:
    room = 0.04 * (max(values) - min(values)) or 0.01
    return min(values) - room, max(values) + room


def _mean(cells: Sequence[Cell], name: str) -> float | None:
    values = figures_of(cells, name)
    return float(np.mean(values)) if values else None
