"""Runs, as the controller tells of them (``/v1/runs``)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, Field

__all__ = ["FINAL", "STATES", "Accepted", "Count", "RunId", "RunList", "RunView", "State", "WorstLeak"]

RunId = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9-]+$")]
"""Clients make names of files of it."""

State = Literal["queued", "running", "done", "failed", "cancelled"]
"""Of a run."""

FINAL: frozenset[State] = frozenset({"done", "failed", "cancelled"})
"""The states of a run that is over."""

STATES = {
    "queued": "waiting",
    "running": "running",
    "done": "finished",
    "failed": "failed",
    "refused": "refused by a limit",
    "cancelled": "cancelled",
}
"""The word for each state of a run or a trial, wherever people read it."""


class Count(BaseModel):
    """How many there are, and how many of them ended well or badly."""

    done: int = 0
    failed: int = 0
    total: int = 0


class Accepted(BaseModel):
    """The answer to ``POST /v1/runs``."""

    id: RunId
    name: str
    trials: int
    models: int
    url: str


class WorstLeak(BaseModel):
    """The worst that a run found, over all its providers and defences: a ``grade`` from A (hardly anything
    can leak) to E (plain), "?" where it cannot be told, and a sentence. Of two runs the one with the larger
    ``rank`` leaks more."""

    grade: Literal["A", "B", "C", "D", "E", "?"]
    sentence: str
    rank: float


class RunView(BaseModel):
    """One run as a listing shows it. Times are ISO 8601 in UTC; ``jobs`` counts by kind. ``origin`` is the
    run whose scenario was taken for it, ``successors`` are those that took its own. ``leak`` is None until
    the run is over, and where nothing has a grade."""

    id: RunId
    name: str
    state: State
    created: str
    started: str | None
    finished: str | None
    seconds: float | None
    error: str | None
    jobs: dict[str, Count]
    trials: Count
    origin: RunId | None = None
    successors: list[RunId] = []
    leak: WorstLeak | None = None


class RunList(BaseModel):
    """A page of runs, newest first; ``next`` is the ``after`` of the following page."""

    runs: list[RunView]
    next: str | None
