"""Contents of a report as data for front ends (`leakrange.wire.views`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache

from leakrange.report.charts.drawing import Chart
from leakrange.report.charts.gallery import Gallery
from leakrange.report.charts.picture import Key, Picture
from leakrange.report.charts.svg import PLACEHOLDERS
from leakrange.report.contents import Contents
from leakrange.report.rendering import style
from leakrange.report.sections import Section
from leakrange.wire.views import (
    DefinitionView,
    GroupView,
    KeyView,
    Paint,
    PictureView,
    RunViews,
    SectionView,
    StripView,
    TableView,
    TileView,
)

__all__ = ["as_data", "picture_data", "theme"]


def as_data(contents: Contents) -> RunViews:
    """All of it but the charts' tables."""
    results = contents.results
    return RunViews(
        run=results.run,
        name=results.name,
        state=results.state,
        sentences=contents.sentences,
        caveats=contents.caveats,
        tiles=[TileView(**asdict(tile)) for tile in contents.tiles],
        sections=[_section(section) for section in contents.sections],
        choices=contents.choices,
        theme=theme(),
    )


def _section(section: Section) -> SectionView:
    return SectionView(
        anchor=section.anchor,
        title=section.title,
        lead=section.lead,
        missing=section.missing,
        notes=section.notes,
        keys=_keys(section.keys),
        groups=[
            GroupView(heading=group.heading, pictures=[_picture(each) for each in group.pictures])
            for group in section.groups
        ],
    )


def picture_data(picture: Picture) -> PictureView:
    """One chart with its table."""
    columns = [{"name": column.name, "unit": column.unit} for column in picture.table.columns]
    table = TableView.model_validate({"columns": columns, "rows": [list(row) for row in picture.table.rows]})
    return _picture(picture).model_copy(update={"table": table})


def _picture(picture: Picture) -> PictureView:
    made = PictureView(
        name=picture.name,
        title=picture.title,
        label=picture.label,
        note=picture.note,
        kind="svg",
        keys=_keys(picture.keys),
        definition=DefinitionView.model_validate(asdict(picture.definition)),
        rows=len(picture.table.rows),
    )
    if isinstance(picture, Chart):
        return made.model_copy(update={"kind": "vega-lite", "specification": picture.specification})
    if isinstance(picture, Gallery):
        strips = [
            StripView(
                name=strip.name,
                beside=strip.beside,
                png=strip.png,
                tips=list(strip.tips),
                figures={name: list(values) for name, values in strip.figures.items()},
            )
            for strip in picture.strips
        ]
        return made.model_copy(update={"kind": "gallery", "strips": strips})
    return made.model_copy(update={"svg": picture.svg})


def _keys(keys: Sequence[Key]) -> list[KeyView]:
    return [KeyView(**asdict(key)) for key in keys]


@cache
def theme() -> dict[str, Paint]:
    """What each placeholder colour of the charts stands for."""
    light, dark = (dict(re.findall(r"(--\w+): (#\w+)", block)) for block in _blocks())
    return {
        placeholder: Paint(variable=variable, light=light[variable], dark=dark[variable])
        for placeholder, variable in PLACEHOLDERS.items()
    }


def _blocks() -> list[str]:
    """The declarations of the light and of the dark colours."""
    return re.findall(r":root \{(.*?)\}", style(), re.DOTALL)[:2]
