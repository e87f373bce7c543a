"""Schemas of what is asked about scenarios, and of the answers."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from leakrange.scenario.forecast import Forecast
from leakrange.scenario.yaml_source import MAX_BYTES

__all__ = ["Checked", "Mistake", "Writing"]


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


class Writing(BaseModel):
    """A scenario that is being written, and the place of the cursor: ``line`` and ``column`` count from 1, in
    characters."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(max_length=MAX_BYTES)]
    line: Annotated[int, Field(ge=1, le=MAX_BYTES)]
    column: Annotated[int, Field(ge=1, le=MAX_BYTES)]
