"""Layers of marks on two axes, drawn from rows of data.

Rows give the numbers of a series' colour, marker and dash; an axis names their field. Of lines and clouds
with many thousand points only some are drawn (`leakrange.report.charts.decimation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakrange.report.charts.axis import Axis
from leakrange.report.charts.decimation import of_cloud, of_line
from leakrange.report.charts.svg import INK, MUTED, SERIES

__all__ = [
    "DASHES",
    "MOST",
    "SHAPES",
    "TEXT",
    "Layer",
    "Rows",
    "area",
    "bars",
    "cells",
    "labels",
    "lines",
    "points",
    "rules",
    "texts",
]

Rows = Sequence[dict[str, Any]]
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "triangle-down", "cross",
    "M-.5-1L0-.5L.5-1L1-.5L.5,0L1,.5L.5,1L0,.5L-.5,1L-1,.5L-.5,0L-1-.5Z",
    "M0-1L.3-.3L1-.25L.45.2L.65.95L0,.55L-.65.95L-.45.2L-1-.25L-.3-.3Z",
)  # fmt: skip
DASHES = ((1, 0), (5, 2), (1.5, 1.8), (7, 2, 1.5, 2), (3, 3), (9, 3), (1.5, 3), (5, 2, 1.5, 2, 1.5, 2))
GUIDE = [3.0, 3.0]
"""The dashes of reference lines."""
TEXT = 12.5
MOST = 4000
"""The most points of a layer that are drawn."""
FEWEST = 16
"""The fewest points of each line that are drawn."""
LOOKS = ("colour", "marker", "dash")


@dataclass(frozen=True)
class Layer:
    """Marks, and their places and colours in Vega-Lite's words; all ``rows`` of the data, and the ones that
    are ``drawn``."""

    mark: dict[str, Any]
    encoding: dict[str, Any]
    rows: Rows
    drawn: Rows
    x: Axis | None = None
    y: Axis | None = None

    def specification(self) -> dict[str, Any]:
        """The layer with the fields that it uses, and no others."""
        used = {channel["field"] for channel in self.encoding.values() if "field" in channel}
        values = [{name: value for name, value in row.items() if name in used} for row in self.drawn]
        return {"data": {"values": values}, "mark": self.mark, "encoding": self.encoding}


def _scaled(field: str, places: Sequence[Any]) -> dict[str, Any]:
    scale = {"domain": list(range(len(SERIES))), "range": list(places)}
    return {"field": field, "type": "nominal", "scale": scale, "legend": None}


COLOUR = _scaled("colour", SERIES)
TOLD = {"field": "tip", "type": "nominal"}
TIP = {"description": TOLD, "tooltip": TOLD}


def _numbered(rows: Rows) -> list[dict[str, Any]]:
    """The rows with the numbers of colours, markers and dashes brought within their lists."""
    return [{k: v % len(SERIES) if k in LOOKS else v for k, v in row.items()} for row in rows]


def lines(
    rows: Rows, x: Axis, y: Axis, *, width: float = 2.0, faint: bool = False, muted: bool = False
) -> Layer:
    """Lines through rows of x, y, ``line`` (which they belong to), colour, dash and tip, in the order of the
    rows; ``muted`` ones are grey."""
    mark = {"type": "line", "aria": not faint, "strokeWidth": width, "opacity": 0.45 if faint else 0.95}
    encoding = {
        "x": x.x(),
        "y": y.y(),
        "detail": {"field": "line", "type": "nominal"},
        "order": {"field": "order", "type": "quantitative"},
        "strokeDash": _scaled("dash", [list(each) for each in DASHES]),
        "color": {"value": MUTED} if muted else COLOUR,
        **({} if faint else TIP),
    }
    drawn = [{"dash": 0, **row, "order": n} for n, row in enumerate(_numbered(_fewer_on_lines(rows, x, y)))]
    return Layer(mark | {"clip": True}, encoding, rows, drawn, x, y)


def _fewer_on_lines(rows: Rows, x: Axis, y: Axis) -> Rows:
    if len(rows) <= MOST:
        return rows
    members: dict[object, list[int]] = {}
    for place, row in enumerate(rows):
        members.setdefault(row.get("line"), []).append(place)
    limit = max(FEWEST, MOST // len(members))
    chosen: list[int] = []
    for places in members.values():
        chosen += (places[i] for i in of_line(*_coordinates([rows[place] for place in places], x, y), limit))
    return [rows[place] for place in sorted(chosen)]


def _coordinates(rows: Rows, x: Axis, y: Axis) -> tuple[Any, Any]:
    """The points' places on the screen, but for the size."""
    columns = (np.array([row[field] for row in rows], dtype=np.float64) for field in ("x", "y"))
    across, up = (
        np.log(column) if axis.log else column for column, axis in zip(columns, (x, y), strict=True)
    )
    return across, up


def points(rows: Rows, x: Axis, y: Axis, *, size: float = 62.0) -> Layer:
    """Marks at rows of x, y, colour, marker and tip."""
    mark = {"type": "point", "filled": True, "size": size, "opacity": 0.88, "clip": True}
    encoding = {"x": x.x(), "y": y.y(), "color": COLOUR, "shape": _scaled("marker", SHAPES), **TIP}
    drawn = rows
    if len(rows) > MOST and x.names is None and y.names is None:
        drawn = [rows[place] for place in of_cloud(*_coordinates(rows, x, y), MOST)]
    return Layer(mark, encoding, rows, [{"marker": 0, **row} for row in _numbered(drawn)], x, y)


def rules(rows: Rows, x: Axis | None, y: Axis | None, *, guide: bool = False, width: float = 1.0) -> Layer:
    """Straight lines: across the chart at rows of x or of y alone; else from x, y to x2, y2, where rows have
    these. ``guide`` makes them dashed and grey."""
    look: dict[str, Any] = {"strokeWidth": width, "opacity": 0.65}
    if guide:
        look = {"strokeWidth": 1.2, "strokeDash": GUIDE, "color": MUTED}
    encoding: dict[str, Any] = {} if guide else {"color": COLOUR}
    fields = {field for row in rows for field in row}
    if x is not None:
        encoding |= {"x": x.x()} | ({"x2": {"field": "x2"}} if "x2" in fields else {})
    if y is not None:
        encoding |= {"y": y.y()} | ({"y2": {"field": "y2"}} if "y2" in fields else {})
    return Layer({"type": "rule", "aria": False, "clip": True, **look}, encoding, rows, _numbered(rows), x, y)


def bars(rows: Rows, x: Axis, y: Axis, *, opacity: float = 0.75) -> Layer:
    """Bars from 0 up to y, between x and x2, of rows with a colour and a tip."""
    encoding = {"x": x.x(), "x2": {"field": "x2"}, "y": y.y(), "y2": {"field": "y2"}, "color": COLOUR, **TIP}
    drawn = [{"y2": 0, **row} for row in _numbered(rows)]
    return Layer({"type": "rect", "opacity": opacity}, encoding, rows, drawn, x, y)


def cells(rows: Rows, x: Axis, y: Axis) -> list[Layer]:
    """A cell at each row's names x and y, the fuller the greater its ``share`` of 1, its text and tip."""
    scale = {"domain": [0, 1], "range": [0.03, 0.6]}
    full = {"field": "share", "type": "quantitative", "scale": scale, "legend": None}
    placed: dict[str, Any] = {"x": x.x(), "y": y.y()}
    return [
        Layer({"type": "rect", "color": SERIES[1]}, {"opacity": full, **TIP, **placed}, rows, rows, x, y),
        texts(rows, x, y, align="center"),
    ]


def texts(
    rows: Rows,
    x: Axis,
    y: Axis,
    *,
    align: str = "left",
    right: float = 0.0,
    down: float = 0.0,
    muted: bool = False,
) -> Layer:
    """The text of each row at its x and y, moved by so many pixels to the ``right`` and ``down``. What is
    written is no data: the chart's table has none of it."""
    look = {"align": align, "dx": right, "dy": down, "fontSize": TEXT, "color": MUTED if muted else INK}
    encoding = {"x": x.x(), "y": y.y(), "text": {"field": "text", "type": "nominal"}}
    return Layer({"type": "text", "aria": False, **look}, encoding, (), rows, x, y)


PLACES = ((9, 4), (-9, 4), (0, -10), (0, 18), (9, -8), (-9, -8), (9, 17), (-9, 17), (16, 30), (-16, -22))
"""Where the text of a mark may begin, end or have its middle, in pixels right of the mark and down."""
LETTER = 0.56 * TEXT
"""The mean width of a letter, in pixels."""


def labels(rows: Rows, marks: Rows, x: Axis, y: Axis, size: tuple[int, int]) -> Layer:
    """The text of each row beside its x and y, where it covers least of the ``marks``, of their bars (dx and
    dy, where they have these), and of the texts before it. ``size`` is the width and height within the axes
    in pixels, whose ends must be known."""
    assert x.ends is not None
    assert y.ends is not None
    (left, right), (bottom, top) = x.ends, y.ends
    across, up = size[0] / (right - left), size[1] / (top - bottom)
    taken: list[Box] = []
    for row in marks:
        middle, height = (row["x"] - left) * across, (top - row["y"]) * up
        wide, high = (row.get("dx") or 0) * across, (row.get("dy") or 0) * up
        taken += [(middle - 5, height - 5, 10, 10), (middle - wide, height - 1, 2 * wide, 2)]
        taken.append((middle - 1, height - high, 2, 2 * high))
    placed = []
    for row in rows:
        width = LETTER * len(row["text"])
        boxes = []
        for right_by, down_by in PLACES:
            begin = (row["x"] - left) * across + right_by - width * (0.5 if right_by == 0 else right_by < 0)
            boxes.append((begin, (top - row["y"]) * up + down_by - TEXT, width, TEXT + 2))
        best = min(boxes, key=lambda box: _covered(box, taken) + 1e6 * _outside(box, size))
        taken.append(best)
        placed.append({**row, "x": left + best[0] / across, "y": top - (best[1] + TEXT) / up})
    return texts(placed, x, y)


Box = tuple[float, float, float, float]
"""Left, top, width and height in pixels."""


def _covered(box: Box, others: Sequence[Box]) -> float:
    """The square pixels that a box shares with others."""
    return sum(
        max(0.0, min(box[0] + box[2], other[0] + other[2]) - max(box[0], other[0]))
        * max(0.0, min(box[1] + box[3], other[1] + other[3]) - max(box[1], other[1]))
        for other in others
    )


def _outside(box: Box, size: tuple[int, int]) -> bool:
    return box[0] < 0 or box[1] < -TEXT or box[0] + box[2] > size[0] + 28 or box[1] + box[3] > size[1]


def area(rows: Rows, x: Axis, y: Axis) -> Layer:
    """Bands between y and y2 along x, of rows with a ``line`` and a colour."""
    encoding = {
        "x": x.x(), "y": y.y(), "y2": {"field": "y2"}, "color": COLOUR,
        "detail": {"field": "line", "type": "nominal"},
    }  # fmt: skip
    mark = {"type": "area", "opacity": 0.18, "aria": False, "clip": True}
    return Layer(mark, encoding, rows, _numbered(rows), x, y)
