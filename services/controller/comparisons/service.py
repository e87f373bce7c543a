"""Compares runs by what each of them found."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from leakrange.report.charts.picture import Picture
from leakrange.report.comparison import LETTERS, charts, compared
from leakrange.report.findings import Findings
from leakrange.wire.comparison import Comparison
from leakrange.wire.errors import InvalidInput
from services.controller.views.service import ViewService

__all__ = ["Compared", "ComparisonService"]

KEPT = 4
"""So many comparisons are kept in memory."""


@dataclass(frozen=True)
class Compared:
    """A comparison, and its charts as pages draw them."""

    comparison: Comparison
    pictures: list[Picture]


class ComparisonService:
    """One per controller."""

    def __init__(self, views: ViewService) -> None:
        self._views = views
        self._comparing = asyncio.Lock()
        self._kept: OrderedDict[tuple[tuple[str, str, int], ...], Compared] = OrderedDict()

    async def compare(self, runs: Sequence[str]) -> Compared:
        """These runs, as far as they are, with the first of them. Raises `NotFound`, and `InvalidInput` for
        fewer than two and more than six."""
        chosen = list(dict.fromkeys(runs))
        if not 2 <= len(chosen) <= len(LETTERS):
            raise InvalidInput(
                f"two to {len(LETTERS)} different runs are compared, not {len(chosen)}",
                hint="name each by ?run=",
            )
        held = [await self._views.contents(run) for run in chosen]
        states = zip(chosen, held, strict=True)
        key = tuple((run, each.stamp.state, each.stamp.events) for run, each in states)
        async with self._comparing:
            if key not in self._kept:
                self._kept[key] = await asyncio.to_thread(
                    _compared, [each.contents.findings for each in held]
                )
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
            return self._kept[key]


def _compared(runs: Sequence[Findings]) -> Compared:
    pictures = charts(runs)
    return Compared(compared(runs, pictures), pictures)
