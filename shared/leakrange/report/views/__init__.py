"""Views of trials by name, each drawn by one module: the report has a section for each that a trial holds.

A kind of attack puts data under a name into a trial's ``views``; the view of that name draws them. So a new
picture is one file here, or in a package of the user's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leakrange.registry import Registry
from leakrange.report.charts.picture import Picture
from leakrange.report.findings import Findings, Subject

__all__ = ["View", "views"]


@dataclass(frozen=True)
class View:
    """A section of the report: its title, its meaning in a sentence or two, and the function that draws the
    picture of a subject, or gives None where there is nothing to draw."""

    title: str
    lead: str
    draw: Callable[[Findings, Subject], Picture | None]
    wide: bool = False
    """Whether its pictures need twice the room."""


views: Registry[View] = Registry("view", "leakrange.report.views")
