"""The results of a run as data for front ends (``/v1/runs/{run}/views``): sentences, key figures, and charts
by section. Reports and pages show the same."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel

__all__ = [
    "Choices",
    "Column",
    "Definition",
    "GlanceLine",
    "GlanceTable",
    "GroupView",
    "Key",
    "LessonStep",
    "Paint",
    "PictureView",
    "RunOverview",
    "RunViews",
    "SectionView",
    "Strip",
    "Table",
    "Term",
    "Tile",
    "Value",
    "WorstCell",
    "cell",
]

Value = str | int | float | None
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNITS = {"share": "share of 1", "score": "0 to 1", "count": "", "number": ""}


class Paint(BaseModel):
    """What a placeholder colour of the charts stands for: a variable of our style sheets, and its value in
    the light and in the dark theme."""

    variable: str
    light: str
    dark: str


@dataclass(frozen=True)
class Column:
    """A heading, and the unit of the values below it; ``""`` for names and plain numbers."""

    name: str
    unit: str = ""

    @classmethod
    def of(cls, name: str, unit: str) -> Column:
        """A column with the unit of a metric or an axis (`leakrange.metrics.registry.Unit`) in words."""
        return cls(name, _UNITS.get(unit, unit))

    @property
    def heading(self) -> str:
        """Name and unit: "PSNR (dB)"."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Table:
    """The data of a chart: rows of as many values as there are columns, None for a missing one. It holds all
    of them, also where fewer points are drawn."""

    columns: Sequence[Column] = ()
    rows: Sequence[Sequence[Value]] = ()

    def csv(self) -> str:
        """The table as CSV, with a heading. Numbers have nine digits, and text that a spreadsheet would take
        for a formula an apostrophe in front; empty where there are no columns."""
        if not self.columns:
            return ""
        written = io.StringIO()
        writer = csv.writer(written, lineterminator="\r\n")
        writer.writerow([cell(column.heading) for column in self.columns])
        writer.writerows([cell(value) for value in row] for row in self.rows)
        return written.getvalue()


def cell(value: Value) -> str:
    """The value as it is written into a CSV file."""
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    return f"{value:.9g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Term:
    """One measure of a chart: its equation with the source, its unit, and the meaning of its direction in
    words. ``interval`` is the source of a single trial's interval and its method, and ``name`` that of the
    registered metric, or empty."""

    title: str
    equation: str
    unit: str = ""
    direction: str = ""
    interval: str = ""
    name: str = ""


@dataclass(frozen=True)
class Definition:
    """The definition of a chart: its measures, the meaning of its n, and the method of its intervals; empty
    where it has none."""

    terms: tuple[Term, ...] = ()
    counted: str = ""
    interval: str = ""


@dataclass(frozen=True)
class Key:
    """One entry of a legend: its text, and the colour, marker or dash that it explains. ``colour`` is the
    number of a series, with the placeholder ``#0000a0`` and on."""

    text: str
    colour: int | None = None
    marker: int | None = None
    dash: int | None = None


@dataclass(frozen=True)
class Strip:
    """Equally wide pictures side by side in one PNG (base64): a name, a remark ``beside`` it, and a tip for
    each picture; for reconstructions, one figure for each picture, by metric."""

    name: str
    beside: str
    png: str
    tips: Sequence[str]
    figures: Mapping[str, Sequence[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Tile:
    """One key figure: its label, the figure, and the text ``beside`` it to compare it with."""

    label: str
    figure: str
    beside: str
    tone: Literal["plain", "good", "bad"] = "plain"


class PictureView(BaseModel):
    """A chart. ``kind`` tells which of ``specification`` (Vega-Lite, with its data), ``strips`` and ``svg``
    it has; the answer that lists all has no ``table``, only how many ``rows`` it would have. ``name`` stays
    while the run goes on, and ``label`` puts the chart into words."""

    name: str
    title: str
    label: str
    note: str
    kind: Literal["vega-lite", "gallery", "svg"]
    keys: list[Key]
    definition: Definition
    rows: int
    specification: dict[str, Any] | None = None
    strips: list[Strip] | None = None
    svg: str | None = None
    table: Table | None = None


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
    keys: list[Key]
    groups: list[GroupView]


class Choices(BaseModel):
    """What the run varied, in its order: by these names the views can be narrowed."""

    providers: list[str]
    defences: list[str]
    attacks: list[str]


class WorstCell(BaseModel):
    """The cell of an attack on a provider behind a defence in which the mean of its main metric over seeds is
    greatest. ``cell``: knowledge, budget, and what is hidden; ``interval``: 95 % of the mean."""

    provider: str
    defence: str
    attack: str
    cell: str
    metric: str
    seeds: int
    mean: float
    deviation: float | None
    interval: tuple[float, float] | None


class RunOverview(BaseModel):
    """A run of any size in short, summed up by the database: its ``trials`` by state, how many each provider,
    defence and attack has, and the ``worst`` cells, the one that leaks most first."""

    run: str
    name: str
    state: str
    sentence: str
    trials: dict[str, int]
    providers: dict[str, int]
    defences: dict[str, int]
    attacks: dict[str, int]
    worst: list[WorstCell]


class GlanceLine(BaseModel):
    """One provider in a table at a glance: for each defence what the strongest attack reached and what users
    got, as text, and its grade from A (hardly anything can leak) to E, or "?" where it cannot be told; None
    where it was not measured. Audits have no grades."""

    provider: str
    cells: list[str | None]
    grades: list[str | None]


class GlanceTable(BaseModel):
    """The strongest attacks on one task, by provider and defence."""

    task: str
    defences: list[str]
    rows: list[GlanceLine]


@dataclass(frozen=True)
class LessonStep:
    """One step of a run that is told to a class: its sentence, its figure with the text ``beside`` it,
    ``bars`` to compare (label, length in [0, 1], figure), and a ``detail`` for the speaker."""

    name: str
    sentence: str
    figure: str
    beside: str
    bars: Sequence[tuple[str, float, str]] = ()
    detail: str = ""


class RunViews(BaseModel):
    """What a run found so far. ``verdict`` is over all providers without a defence, and None where none was
    tried; ``part`` says which part of the run it is about, and is empty for the whole. Colours in
    specifications are placeholders: ``theme`` gives each of them."""

    run: str
    name: str
    state: str
    part: str
    verdict: Literal["leaks", "none", "unclear"] | None
    headline: str
    recommendation: str
    sentences: list[str]
    caveats: list[str]
    tiles: list[Tile]
    glance: list[GlanceTable]
    sections: list[SectionView]
    choices: Choices
    theme: dict[str, Paint]
