"""What a run found, as data for front ends (``/v1/runs/{run}/views``): sentences, key figures, and charts by
section. Reports and pages show the same."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel

__all__ = [
    "Choices",
    "ColumnView",
    "DefinitionView",
    "GroupView",
    "KeyView",
    "Paint",
    "PictureView",
    "RunViews",
    "SectionView",
    "StripView",
    "TableView",
    "TermView",
    "TileView",
]


class Paint(BaseModel):
    """What a placeholder colour of the charts stands for: a variable of our style sheets, and its value in
    the light and in the dark theme."""

    variable: str
    light: str
    dark: str


class ColumnView(BaseModel):
    """A column of a chart's data; ``unit`` is empty for names and plain numbers."""

    name: str
    unit: str


class TableView(BaseModel):
    """The data of a chart: all of it, also where fewer points are drawn."""

    columns: list[ColumnView]
    rows: list[list[str | int | float | None]]


class TermView(BaseModel):
    """A measure: its equation with the source, its unit, and which way is which. ``name`` is that of the
    registered metric, or empty; ``interval`` says over what the interval of one trial is."""

    name: str
    title: str
    unit: str
    direction: str
    equation: str
    interval: str


class DefinitionView(BaseModel):
    """The measures of a chart, what its n is, and how its intervals are made."""

    terms: list[TermView]
    counted: str
    interval: str


class KeyView(BaseModel):
    """An entry of a legend. ``colour`` is the number of a series (placeholder ``#0000a0`` and on), ``marker``
    and ``dash`` are those of the marks; None where that tells nothing."""

    text: str
    colour: int | None
    marker: int | None
    dash: int | None


class StripView(BaseModel):
    """Pictures of equal width side by side (PNG, base64), a tip for each, and of reconstructions one figure
    for each by metric."""

    name: str
    beside: str
    png: str
    tips: list[str]
    figures: dict[str, list[float]]


class PictureView(BaseModel):
    """A chart. ``kind`` tells which of ``specification`` (Vega-Lite, with its data), ``strips`` and ``svg``
    it has; the answer that lists all has no ``table``, only how many ``rows`` it would have. ``name`` stays
    while the run goes on, and ``label`` puts the chart into words."""

    name: str
    title: str
    label: str
    note: str
    kind: Literal["vega-lite", "gallery", "svg"]
    keys: list[KeyView]
    definition: DefinitionView
    rows: int
    specification: dict[str, Any] | None = None
    strips: list[StripView] | None = None
    svg: str | None = None
    table: TableView | None = None


class GroupView(BaseModel):
    """Charts under a heading, which may be empty."""

    heading: str
    pictures: list[PictureView]


class SectionView(BaseModel):
    """Charts of one sort. ``missing`` says why there are none."""

    anchor: str
    title: str
    lead: str
    missing: str
    notes: list[str]
    keys: list[KeyView]
    groups: list[GroupView]


class TileView(BaseModel):
    """A key figure, and what it is to be compared with."""

    label: str
    figure: str
    beside: str
    tone: Literal["plain", "good", "bad"]


class Choices(BaseModel):
    """What the run varied, in its order: by these names the views can be narrowed."""

    providers: list[str]
    defences: list[str]
    attacks: list[str]


class RunViews(BaseModel):
    """What a run found so far. Colours in specifications are placeholders: ``theme`` gives each of them."""

    run: str
    name: str
    state: str
    sentences: list[str]
    caveats: list[str]
    tiles: list[TileView]
    sections: list[SectionView]
    choices: Choices
    theme: dict[str, Paint]
