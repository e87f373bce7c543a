"""Measurements made while load users asked: per defence and kind of user, how many requests, how fast, how
many refused or failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from leakrange.scenario.load import UserKind
from leakrange.strict import Strict, example

__all__ = ["LoadMoment", "LoadPart", "Loaded", "Measured", "measured_by_defence"]

Count = Annotated[int, Field(ge=0)]


class Measured(Strict):
    """Requests under one ``defence`` by one kind of ``user``. Those that were ``refused`` (429) or ``failed``
    are not among the ``answered``. ``milliseconds`` counts answered ones by their response time, which is
    rounded to two digits."""

    defence: Annotated[str, Field(max_length=128)]
    user: UserKind
    answered: Count = 0
    refused: Count = 0
    failed: Count = 0
    milliseconds: dict[Annotated[int, Field(ge=0)], Count] = {}

    @property
    def asked(self) -> int:
        """All of them."""
        return self.answered + self.refused + self.failed

    def quantile(self, share: float) -> float | None:
        """Return the response time in milliseconds within which this share of the answers came; None without
        answers."""
        if not self.milliseconds:
            return None
        times = sorted(self.milliseconds)
        reached = np.cumsum([self.milliseconds[time] for time in times])
        return float(times[int(np.searchsorted(reached, share * reached[-1]))])


class LoadMoment(Strict):
    """So many users ``at`` a second after the start, and the requests a second that were then answered."""

    at: float
    users: Count
    rate: float


class LoadPart(Strict):
    """What one load test saw: a run has several where one was ended and another went on with it.

    ``errors`` are the most frequent failures, with how often they were seen.
    """

    model_config = example(
        {
            "seconds": 60.0,
            "workers": 1,
            "measured": [
                {
                    "defence": "none",
                    "user": "membership",
                    "answered": 412,
                    "milliseconds": {"12": 400, "31": 12},
                }
            ],
            "moments": [{"at": 30.0, "users": 20, "rate": 6.9}],
        }
    )
    seconds: Annotated[float, Field(ge=0)] = 0.0
    workers: Count = 1
    measured: Annotated[list[Measured], Field(max_length=1000)] = []
    moments: Annotated[list[LoadMoment], Field(max_length=1000)] = []
    errors: Annotated[dict[Annotated[str, Field(max_length=500)], Count], Field(max_length=20)] = {}


class Loaded(Strict):
    """A run under load: the section of its scenario, and what was seen, by the names of the load tests."""

    spec: dict[str, Any]
    parts: dict[str, LoadPart] = {}

    @property
    def by_defence(self) -> list[Measured]:
        """Attackers' requests of all parts together, a line a defence; honest users' where no other asked."""
        every = [each for part in self.parts.values() for each in part.measured]
        attackers = [each for each in every if each.user != "honest"]
        return measured_by_defence(attackers or every)

    @property
    def seconds(self) -> float:
        """Seconds in which users asked."""
        return sum(part.seconds for part in self.parts.values())


def measured_by_defence(lines: Iterable[Measured]) -> list[Measured]:
    """The lines of each defence added up, in order of appearance; ``user`` is that of the first."""
    by_defence: dict[str, list[Measured]] = {}
    for line in lines:
        by_defence.setdefault(line.defence, []).append(line)
    return [_together(same) for same in by_defence.values()]


def _together(lines: Sequence[Measured]) -> Measured:
    times: Counter[int] = Counter()
    for line in lines:
        times.update(line.milliseconds)
    return Measured(
        defence=lines[0].defence,
        user=lines[0].user,
        answered=sum(line.answered for line in lines),
        refused=sum(line.refused for line in lines),
        failed=sum(line.failed for line in lines),
        milliseconds=dict(times),
    )
