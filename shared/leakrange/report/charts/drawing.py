"""The parts of charts: Vega-Lite specifications by Altair, in one style.

A chart is layers on two axes. Rows of data give the numbers of a series' colour, marker and dash; an axis
names their field. Colours are placeholders until `leakrange.report.charts.svg` draws the chart, so that it
follows the page's light or dark theme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import altair as alt
from altair.utils.schemapi import disable_debug_mode

from leakrange.metrics.registry import Unit
from leakrange.report.charts.picture import Key, Picture
from leakrange.report.charts.svg import INK, LINE, MUTED, SERIES, draw

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
    "lines",
    "picture",
    "points",
    "rules",
]

# Altair would check every part of a chart against its schema while it is put together, which takes longer
# than all the drawing. The tests check the finished specifications.
disable_debug_mode()

Rows = Sequence[dict[str, Any]]
SPACE = "\N{NO-BREAK SPACE}"
SHAPES = (
    "circle", "square", "triangle-up", "diamond", "triangle-down", "cross",
    "M-.5-1L0-.5L.5-1L1-.5L.5,0L1,.5L.5,1L0,.5L-.5,1L-1,.5L-.5,0L-1-.5Z",
    "M0-1L.3-.3L1-.25L.45.2L.65.95L0,.55L-.65.95L-.45.2L-1-.25L-.3-.3Z",
)  # fmt: skip
DASHES = ((1, 0), (5, 2), (1.5, 1.8), (7, 2, 1.5, 2), (3, 3), (9, 3), (1.5, 3), (5, 2, 1.5, 2, 1.5, 2))
GUIDE = [3.0, 3.0]
"""The dashes of reference lines."""
PLACES = list(range(len(SERIES)))
TEXT = 12.5
WIDTH = 176
"""Pixels for the names on an axis below a chart."""
FONT = "Liberation Sans"
"""By which texts are measured: it comes with vl-convert, so that charts are the same on every machine."""


@dataclass(frozen=True, kw_only=True)
class Chart(Picture):
    """A figure that a Vega-Lite specification draws."""

    specification: dict[str, Any]

    @cached_property
    def svg(self) -> str:
        """The chart as an SVG element that stands in a page."""
        return draw(self.specification, self.label)


@dataclass(frozen=True)
class Axis:
    """One axis. Shares are written in percent; ``ends`` are its lowest and highest value, ``ticks`` where it
    is marked; both are found by Vega where they are None. ``names`` makes it one of names, in that order.
    """

    title: str
    unit: Unit = "number"
    ends: tuple[float, float] | None = None
    ticks: Sequence[float] | None = None
    names: Sequence[str] | None = None
    log: bool = False
    about: int = 5
    """How many ticks Vega is to choose."""
    room: int | None = None
    """How many pixels a name may take; None for what suits a small chart, 0 for no names to the left."""

    def x(self) -> alt.X:
        """The axis below the chart, of the rows' x."""
        if self.names is not None:
            limit = self.room or WIDTH / len(self.names)
            own = alt.Axis(grid=False, labelAngle=0, labelLimit=limit, ticks=False)
            return alt.X("x:N", title=self.title, sort=list(self.names), axis=own)
        return alt.X("x:Q", title=self.title, scale=self._scale(), axis=self._marks())

    def y(self) -> alt.Y:
        """The axis to the left, of the rows' y; its title stands above it, upright."""
        above: dict[str, Any] = {"titleAngle": 0, "titleAnchor": "end", "titleAlign": "left"}
        above |= {"titleX": -40, "titleY": -14}
        if self.names is not None:
            shown = {"labels": False} if self.room == 0 else {"labelLimit": self.room or 82}
            own = alt.Axis(grid=False, ticks=False, **shown, **above)
            return alt.Y("y:N", title=self.title or None, sort=list(self.names), axis=own)
        return alt.Y("y:Q", title=self.title, scale=self._scale(), axis=self._marks(**above))

    def _scale(self) -> alt.Scale:
        ends: dict[str, Any] = {} if self.ends is None else {"domain": list(self.ends)}
        return alt.Scale(type="log" if self.log else "linear", zero=False, nice=False, **ends)

    def _marks(self, **placed: Any) -> alt.Axis:
        text = "format(datum.value, '.4~g')"
        if self.unit == "share":
            text = f"format(100 * datum.value, '.4~g') + '{SPACE}%'"
        elif self.unit == "count":
            text = "format(datum.value, ',d')"
        elif self.unit == "dB":
            text += f" + '{SPACE}dB'"
        ticks: dict[str, Any] = (
            {"tickCount": self.about} if self.ticks is None else {"values": list(self.ticks)}
        )
        return alt.Axis(labelExpr=text, **ticks, **placed)


@dataclass(frozen=True)
class Layer:
    """Marks, and the rows that they are drawn from. The rows are put into the finished specification: Altair
    would copy and check every one of them, many times."""

    marks: alt.Chart
    rows: Rows


AXES: dict[str, Any] = {
    "aria": False,
    "gridOpacity": 0.55,
    "gridWidth": 0.7,
    "labelColor": MUTED,
    "titleColor": MUTED,
    "gridColor": LINE,
    "domainColor": LINE,
    "tickColor": LINE,
}

BARE = alt.Chart(alt.NamedData(name="rows"))
COLOUR = alt.Color("colour:O", scale=alt.Scale(domain=PLACES, range=list(SERIES)), legend=None)


def _numbered(rows: Rows) -> list[dict[str, Any]]:
    """The rows with the numbers of colours, markers and dashes brought within their lists."""
    looks = ("colour", "marker", "dash")
    return [{k: v % len(SERIES) if k in looks else v for k, v in row.items()} for row in rows]


def lines(
    rows: Rows, x: Axis, y: Axis, *, width: float = 2.0, faint: bool = False, muted: bool = False
) -> Layer:
    """Lines through rows of x, y, ``line`` (which they belong to), colour, dash and tip, in the order of the
    rows; ``muted`` ones are grey."""
    own: dict[str, Any] = {"strokeWidth": width, "opacity": 0.45 if faint else 0.95, "clip": True}
    told: dict[str, Any] = {} if faint else {"description": alt.Description("tip:N")}
    told["color"] = alt.value(MUTED) if muted else COLOUR
    dash = alt.StrokeDash(
        "dash:O", scale=alt.Scale(domain=PLACES, range=[list(each) for each in DASHES]), legend=None
    )
    marks = BARE.mark_line(aria=not faint, **own)
    encoded = marks.encode(x=x.x(), y=y.y(), detail="line:N", order="order:Q", strokeDash=dash, **told)
    return Layer(encoded, [{"dash": 0, **row, "order": n} for n, row in enumerate(_numbered(rows))])


def points(rows: Rows, x: Axis, y: Axis, *, size: float = 62.0) -> Layer:
    """Marks at rows of x, y, colour, marker and tip."""
    shape = alt.Shape("marker:O", scale=alt.Scale(domain=PLACES, range=list(SHAPES)), legend=None)
    marks = BARE.mark_point(filled=True, size=size, opacity=0.88, clip=True)
    encoded = marks.encode(x=x.x(), y=y.y(), color=COLOUR, shape=shape, description="tip:N")
    return Layer(encoded, [{"marker": 0, **row} for row in _numbered(rows)])


def rules(rows: Rows, x: Axis | None, y: Axis | None, *, guide: bool = False) -> Layer:
    """Straight lines: across the chart at rows of x or of y alone; else from x, y to x2, y2, as far as rows
    have these. ``guide`` makes them dashed and grey."""
    look: dict[str, Any] = {"strokeWidth": 1.0, "opacity": 0.65}
    if guide:
        look = {"strokeWidth": 1.2, "strokeDash": GUIDE, "color": MUTED}
    encoded: dict[str, Any] = {} if guide else {"color": COLOUR}
    fields = {field for row in rows for field in row}
    if x is not None:
        encoded |= {"x": x.x()} | ({"x2": "x2:Q"} if "x2" in fields else {})
    if y is not None:
        encoded |= {"y": y.y()} | ({"y2": "y2:Q"} if "y2" in fields else {})
    return Layer(BARE.mark_rule(aria=False, clip=True, **look).encode(**encoded), _numbered(rows))


def bars(rows: Rows, x: Axis, y: Axis, *, opacity: float = 0.75) -> Layer:
    """Bars from 0 up to y, between x and x2, of rows with a colour and a tip."""
    marks = BARE.mark_rect(opacity=opacity)
    encoded = marks.encode(x=x.x(), x2="x2:Q", y=y.y(), y2="y2:Q", color=COLOUR, description="tip:N")
    return Layer(encoded, [{"y2": 0, **row} for row in _numbered(rows)])


def cells(rows: Rows, x: Axis, y: Axis) -> list[Layer]:
    """A cell at each row's names x and y, the fuller the greater its ``share`` of 1, its text and tip."""
    full = alt.Opacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.03, 0.6]), legend=None)
    placed: dict[str, Any] = {"x": x.x(), "y": y.y()}
    filled = BARE.mark_rect(color=SERIES[1]).encode(opacity=full, description="tip:N", **placed)
    texts = BARE.mark_text(color=INK, fontSize=TEXT, aria=False).encode(text="text:N", **placed)
    return [Layer(filled, rows), Layer(texts, rows)]


def area(rows: Rows, x: Axis, y: Axis) -> Layer:
    """Bands between y and y2 along x, of rows with a ``line`` and a colour."""
    marks = BARE.mark_area(opacity=0.18, aria=False, clip=True)
    return Layer(marks.encode(x=x.x(), y=y.y(), y2="y2:Q", color=COLOUR, detail="line:N"), _numbered(rows))


def picture(
    title: str,
    label: str,
    layers: Sequence[Layer],
    *,
    size: tuple[int, int] = (300, 230),
    margins: tuple[int, int, int, int] = (30, 12, 44, 46),
    note: str = "",
    keys: Sequence[Key] = (),
) -> Chart:
    """``layers`` upon one another, ``size`` (width, height) pixels in all, of which ``margins`` (top, right,
    bottom, left) lie outside the axes. ``label`` puts it into words."""
    top, right, bottom, left = margins
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"}
    made = (
        alt.layer(*(layer.marks for layer in layers))
        .properties(
            width=size[0] - left - right,
            height=size[1] - top - bottom,
            padding={"top": top, "right": right, "bottom": bottom, "left": left},
            autosize=alt.AutoSizeParams(type="none"),
        )
        .configure(background="transparent", font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelOverlap=True,
            labelSeparation=8,
            titlePadding=6,
            **AXES,
            **text,
        )
    )
    specification: dict[str, Any] = made.to_dict(validate=False)
    _fill(specification, layers)
    return Chart(title, label, note, tuple(keys), specification=specification)


def beside(
    title: str,
    label: str,
    panels: Sequence[tuple[Sequence[Layer], int]],
    *,
    height: int = 230,
    note: str = "",
    keys: Sequence[Key] = (),
) -> Chart:
    """One picture of several panels from left to right: the layers of each, and the width within its axes in
    pixels. ``label`` puts all of it into words."""
    text = {"labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal"}
    made = (
        alt.hconcat(
            *(
                alt.layer(*(layer.marks for layer in layers)).properties(width=width, height=height)
                for layers, width in panels
            ),
            spacing=22,
        )
        .properties(padding={"top": 24, "right": 12, "bottom": 6, "left": 6})
        .configure(background="transparent", font=FONT)
        .configure_view(stroke=None)
        .configure_axis(labelOverlap=True, labelSeparation=8, titlePadding=6, **AXES, **text)
    )
    specification: dict[str, Any] = made.to_dict(validate=False)
    for drawn, (layers, _) in zip(specification["hconcat"], panels, strict=True):
        _fill(drawn, layers)
    return Chart(title, label, note, tuple(keys), specification=specification)


def _fill(specification: dict[str, Any], layers: Sequence[Layer]) -> None:
    for drawn, layer in zip(specification["layer"], layers, strict=True):
        drawn["data"] = {"values": layer.rows}
