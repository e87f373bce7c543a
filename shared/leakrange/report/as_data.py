"""Contents of a report as data for front ends (`leakrange.wire.views`)."""

from __future__ import annotations

import re
from functools import cache

from leakrange.report.charts.svg import PLACEHOLDERS
from leakrange.report.contents import Contents
from leakrange.report.glance import GlanceRow
from leakrange.report.rendering import style
from leakrange.report.sections import Section
from leakrange.wire.views import GlanceLine, GlanceTable, GroupView, Paint, RunViews, SectionView

__all__ = ["as_data", "theme"]


def as_data(contents: Contents) -> RunViews:
    """Everything in ``contents`` but the charts' tables."""
    results = contents.results
    return RunViews(
        run=results.run,
        name=results.name,
        state=results.state,
        part=contents.part,
        verdict=contents.headline.word,
        headline=contents.headline.sentence,
        recommendation=contents.headline.recommendation,
        sentences=contents.sentences,
        caveats=contents.caveats,
        tiles=contents.tiles,
        glance=[_glance(task, rows, contents) for task, rows in contents.glance.items()],
        sections=[_section(section) for section in contents.sections],
        choices=contents.choices,
        theme=theme(),
    )


def _glance(task: str, rows: list[GlanceRow], contents: Contents) -> GlanceTable:
    lines = [
        GlanceLine(
            provider=row.label,
            cells=[None if cell is None else f"{cell.figure} ({cell.beside})" for cell in row.cells],
            grades=[None if cell is None else cell.grade for cell in row.cells],
        )
        for row in rows
    ]
    return GlanceTable(task=task, defences=contents.findings.defences, rows=lines)


def _section(section: Section) -> SectionView:
    return SectionView(
        anchor=section.anchor,
        title=section.title,
        lead=section.lead,
        missing=section.missing,
        notes=section.notes,
        keys=section.keys,
        groups=[
            GroupView(heading=group.heading, pictures=[each.data() for each in group.pictures])
            for group in section.groups
        ],
    )


@cache
def theme() -> dict[str, Paint]:
    """The colours of the light and the dark page for each placeholder colour of the charts."""
    light, dark = (dict(re.findall(r"(--\w+): (#\w+)", block)) for block in _blocks())
    return {
        placeholder: Paint(variable=variable, light=light[variable], dark=dark[variable])
        for placeholder, variable in PLACEHOLDERS.items()
    }


def _blocks() -> list[str]:
    """The declarations of the light and of the dark colours."""
    return re.findall(r":root \{(.*?)\}", style(), re.DOTALL)[:2]
