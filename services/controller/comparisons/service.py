"""Compares runs by their results."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from leakrange.report.charts.picture import Picture
from leakrange.report.comparison import LETTERS, charts, compared
from leakrange.report.findings import Findings
from leakrange.services.controller.views.service import ViewService
from leakrange.wire.comparison import Comparison
from leakrange.wire.errors import InvalidInput

__all__ = ["ComparisonService", "DrawnComparison"]

KEPT = 4
"""The number of comparisons that are kept in memory."""


@dataclass(frozen=True)
class DrawnComparison:
    """A comparison, and its charts as pages draw them."""

    comparison: Comparison
    pictures: list[Picture]


class ComparisonService:
    """One per controller."""

    def __init__(self, views: ViewService) -> None:
        self._views = views
        self._comparing = asyncio.Lock()
        self._kept: OrderedDict[tuple[tuple[str, str, int], ...], DrawnComparison] = OrderedDict()

    async def compare(self, runs: Sequence[str]) -> DrawnComparison:
        """Compare these runs, as far as they have come, with the first of them. Raises `NotFound`, and
        `InvalidInput` for fewer than two and more than six."""
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


def _compared(runs: Sequence[Findings]) -> DrawnComparison:
    pictures = charts(runs)
    return DrawnComparison(compared(runs, pictures), pictures)
