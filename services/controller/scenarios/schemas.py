"""Schemas of what is asked about scenarios, and of the answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from leakrange.scenario.forecast import Forecast, Outlook
from leakrange.scenario.yaml_source import MAX_BYTES
from leakrange.strict import Strict, example

__all__ = ["Asked", "Changes", "Checked", "Checking", "Differing", "Mistake", "Planned", "Writing"]


class Mistake(BaseModel):
    """``line`` and ``column`` count from 1, in characters; both are None where no place can be told.
    ``allowed`` are the values that would do, ``suggestion`` the nearest of them."""

    line: int | None
    column: int | None
    path: str
    message: str
    allowed: list[str]
    suggestion: str | None


class Checked(BaseModel):
    """What is wrong with a scenario, in the order of its lines; or, where nothing is, what a run takes, and
    ``warnings`` of what it leaves out."""

    valid: bool
    mistakes: list[Mistake] = []
    forecast: Forecast | None = None
    warnings: list[str] = []


class Writing(Strict):
    """A scenario that is being written, and the place of the cursor: ``line`` and ``column`` count from 1, in
    characters."""

    model_config = example({"text": "name: mine\ndata: {name: dig", "line": 2, "column": 16})
    text: Annotated[str, Field(max_length=MAX_BYTES)]
    line: Annotated[int, Field(ge=1, le=MAX_BYTES)]
    column: Annotated[int, Field(ge=1, le=MAX_BYTES)]


class Checking(Strict):
    """A scenario to check: ``text`` has a character for each byte."""

    text: str


class Differing(Strict):
    """Two texts whose lines are compared."""

    before: str
    after: str


class Asked(Strict):
    """What the controller asks the process that checks scenarios, and what that may take: ``seconds`` of a
    processor, and ``memory``, bytes of data."""

    what: Writing | Checking | Differing
    seconds: int
    memory: int


class Planned(BaseModel):
    """The mistakes of a scenario, or what its plan comes to."""

    mistakes: list[Mistake] = []
    outlook: Outlook | None = None


class Changes(BaseModel):
    """The lines of a difference, each with what it is: "gone", "new", "same" or "where"."""

    lines: list[tuple[str, str]]
