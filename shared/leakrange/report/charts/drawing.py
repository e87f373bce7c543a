"""Charts as Vega-Lite specifications in one style: layers of marks on top of one another, or panels side by
side.

Colours are placeholders until `leakrange.report.charts.svg` or a page's script draws the chart, so that it
follows the page's light or dark theme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from leakrange.report.charts.axis import Axis
from leakrange.report.charts.marks import (
    DASHES,
    SHAPES,
    TEXT,
    Layer,
    area,
    bars,
    cells,
    labels,
    lines,
    points,
    rules,
    texts,
)
from leakrange.report.charts.picture import Picture
from leakrange.report.charts.svg import LINE, MUTED, draw
from leakrange.wire.views import Column, Definition, Key, Table, Value

__all__ = [
    "DASHES",
    "SHAPES",
    "Axis",
    "Chart",
    "Key",
    "Layer",
    "Picture",
    "area",
    "bars",
    "beside",
    "cells",
    "labels",
    "lines",
    "picture",
    "points",
    "rules",
    "texts",
]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.4.1.json"
FONT = "Liberation Sans"
"""The font in which texts are measured: it comes with vl-convert, so that charts are the same on every
machine."""
MARGIN = 74
"""Pixels for names and numbers beside a panel."""
CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": FONT,
    "view": {"continuousHeight": 300, "continuousWidth": 300, "stroke": None},
    "axis": {
        "aria": False,
        "gridOpacity": 0.55,
        "gridWidth": 0.7,
        "labelColor": MUTED,
        "titleColor": MUTED,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelOverlap": True,
        "labelSeparation": 8,
        "titlePadding": 6,
        "labelFontSize": TEXT,
        "titleFontSize": TEXT,
        "titleFontWeight": "normal",
    },
}


@dataclass(frozen=True, kw_only=True)
class Chart(Picture):
    """A figure that a Vega-Lite specification draws."""

    specification: dict[str, Any]
    size: tuple[int, int]
    """Width and height in pixels, margins included; approximate for panels."""
    kind = "vega-lite"

    @cached_property
    def svg(self) -> str:
        """The chart as an SVG element for a page."""
        return draw(self.specification, self.label)

    def _drawn_from(self) -> dict[str, Any]:
        return {"specification": self.specification}


def picture(
    title: str,
    label: str,
    layers: Sequence[Layer],
    *,
    size: tuple[int, int] = (300, 230),
    margins: tuple[int, int, int, int] = (30, 12, 44, 46),
    note: str = "",
    keys: Sequence[Key] = (),
    table: Table | None = None,
    definition: Definition | None = None,
) -> Chart:
    """A chart of ``layers`` on top of one another, ``size`` (width, height) pixels in all, of which
    ``margins`` (top, right, bottom, left) lie outside the axes. ``label`` describes it in words. Without a
    ``table``, the data are those of the layers, under the titles of their axes."""
    top, right, bottom, left = margins
    specification: dict[str, Any] = {
        "$schema": SCHEMA,
        "config": CONFIG,
        "width": size[0] - left - right,
        "height": size[1] - top - bottom,
        "padding": {"top": top, "right": right, "bottom": bottom, "left": left},
        "autosize": {"type": "none"},
        "layer": [layer.specification() for layer in layers],
    }
    return _chart(title, label, layers, specification, size, note, keys, table, definition)


def beside(
    title: str,
    label: str,
    panels: Sequence[tuple[Sequence[Layer], int]],
    *,
    height: int = 230,
    note: str = "",
    keys: Sequence[Key] = (),
    table: Table | None = None,
    definition: Definition | None = None,
) -> Chart:
    """A chart of several panels from left to right, each given by its layers and the width within its axes in
    pixels. ``label`` describes all of it in words."""
    columns = [
        {"width": width, "height": height, "layer": [layer.specification() for layer in layers]}
        for layers, width in panels
    ]
    specification: dict[str, Any] = {
        "$schema": SCHEMA,
        "config": CONFIG,
        "padding": {"top": 24, "right": 12, "bottom": 6, "left": 6},
        "spacing": 22,
        "hconcat": columns,
    }
    every = [layer for layers, _ in panels for layer in layers]
    across = sum(width for _, width in panels) + MARGIN * len(panels)
    size = (across, height + MARGIN)
    return _chart(title, label, every, specification, size, note, keys, table, definition)


def _chart(
    title: str,
    label: str,
    layers: Sequence[Layer],
    specification: dict[str, Any],
    size: tuple[int, int],
    note: str,
    keys: Sequence[Key],
    table: Table | None,
    definition: Definition | None,
) -> Chart:
    fewer = [
        f"{len(layer.drawn):,} of {len(layer.rows):,} points are drawn, the table has all"
        for layer in layers
        if len(layer.drawn) < len(layer.rows)
    ]
    return Chart(
        title,
        label,
        "; ".join(filter(None, [note, *fewer])),
        tuple(keys),
        _rows_of(layers) if table is None else table,
        definition or Definition(),
        specification=specification,
        size=size,
    )


def _rows_of(layers: Sequence[Layer]) -> Table:
    """The data that the layers are drawn from, each row once, under the titles of the axes."""
    columns: dict[Column, None] = {}
    distinct: dict[tuple[tuple[Column, Value], ...], None] = {}
    for layer in layers:
        named = _headings(layer)
        for row in layer.rows:
            entries = tuple((named[field], value) for field, value in row.items() if field in named)
            if entries:
                distinct[entries] = None
                columns.update((column, None) for column, _ in entries)
    order = list(columns)
    return Table(order, [[dict(entries).get(column) for column in order] for entries in distinct])


def _headings(layer: Layer) -> dict[str, Column]:
    """The columns of a layer's fields; the fields of its looks have none."""
    named = {"line": Column("line")}
    for field, axis in (("x", layer.x), ("y", layer.y)):
        if axis is not None:
            title = axis.title or ("name" if axis.names is not None else field)
            unit = "" if axis.names is not None else axis.unit
            named |= {field: Column.of(title, unit), f"{field}2": Column.of(f"{title}, to", unit)}
    return named | {"share": Column.of("share", "share"), "tip": Column("in words")}
