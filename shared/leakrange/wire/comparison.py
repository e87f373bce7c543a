"""Several runs beside one another, as the controller tells of them (``/v1/compare``)."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel

from leakrange.wire.runs import State
from leakrange.wire.views import Paint, PictureView

__all__ = ["Change", "ComparedCell", "ComparedRun", "Comparison", "RunFigure", "ScenarioDifference"]


class ComparedRun(BaseModel):
    """One of the runs; ``letter`` is what the others call it."""

    letter: str
    run: str
    name: str
    state: State
    created: str


class ScenarioDifference(BaseModel):
    """A field in which the scenarios are not all alike, with its value in each run; None: it has none."""

    path: str
    values: list[str | None]


class RunFigure(BaseModel):
    """A figure of one run: mean over ``seeds``, sample deviation, 95 % interval of the mean (Student's t)."""

    mean: float
    deviation: float | None
    low: float | None
    high: float | None
    seeds: list[int]


class Change(BaseModel):
    """The figure of a run less that of the first run, with its 95 % interval by ``method``: of ``paired``
    seeds, ``welch``, or ``none`` where there are too few seeds. ``clear``: it holds no zero."""

    value: float
    low: float | None
    high: float | None
    method: Literal["paired", "welch", "none"]
    freedom: float | None
    clear: bool


class ComparedCell(BaseModel):
    """One metric of a cell of the matrix that the first run shares with another: a figure for each run, and
    for each but the first its change."""

    data: str
    provider: str
    sensitive: str
    kind: str
    defence: str
    attack: str
    knowledge: str
    budget: int
    metric: str
    title: str
    unit: str
    role: str
    figures: list[RunFigure | None]
    changes: list[Change | None]


class Comparison(BaseModel):
    """``runs`` in the order in which they were named; all lists of figures and values follow it. ``notes``
    say what to bear in mind. Colours in ``charts`` are placeholders, of which ``theme`` says what they stand
    for."""

    runs: list[ComparedRun]
    differences: list[ScenarioDifference]
    cells: list[ComparedCell]
    notes: list[str]
    charts: list[PictureView]
    theme: dict[str, Paint]
