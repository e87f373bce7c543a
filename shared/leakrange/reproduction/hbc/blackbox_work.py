"""Sections 3.1 and 3.2 as works of a reproduction, and as a section of its page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leakrange.jobs.versions import Versions
from leakrange.report.document import Column, Figure, Line, Section
from leakrange.reproduction.cells import Cell
from leakrange.reproduction.hbc.blackbox import (
    BETAS,
    COUNT,
    PAPER,
    SCHEDULE,
    measure_frontier,
    measure_mixtures,
)
from leakrange.reproduction.seed_work import SeedWork
from leakrange.reproduction.work import Progress

__all__ = ["BlackBoxWork", "section"]

NAME = "blackbox"
BEHAVIOURS = ("curious/mixture", "curious/convex")
VERSION = 1
"""Raised when the same models give other figures than before."""


class BlackBoxWork(SeedWork):
    """Both mixtures and the whole logistic frontier under one seed."""

    @property
    def title(self) -> str:
        """What is measured."""
        return f"Fig. 4 and Section 3.1: mixtures and the logistic frontier, seed {self.seed}"

    def identity(self) -> list[Any]:
        """Of its cell."""
        versions = [Versions.declared("quadrants", "linear", each).model_dump() for each in BEHAVIOURS]
        schedule = SCHEDULE.model_dump(mode="json", exclude_defaults=True)
        return ["hbc", NAME, self.seed, COUNT, list(BETAS), schedule, versions, VERSION]

    def measure(self, _store: Path, progress: Progress, /) -> Cell:
        """Train the two mixtures and a logistic regression for every β^s."""
        mixtures = measure_mixtures(seeds=[self.seed])
        progress(0.2)
        points = measure_frontier(seeds=[self.seed])
        return {
            "mixtures": {row.mixture: [row.honesty, row.curiosity] for row in mixtures},
            "frontier": [[point.beta_s, point.honesty, point.curiosity] for point in points],
        }


def section(works: Sequence[BlackBoxWork], store: Path) -> Section:
    """Mixtures and frontier as lines, in percent, over the seeds that were measured. Beside a frontier point
    stands what δ^y = 1.5 − δ^s makes of its curiosity."""
    cells = [cell for work in works if (cell := work.cell(store)) is not None]
    count = [str(len(cells))]
    lines = []
    for name, (honesty, curiosity) in PAPER.items():
        ours = [cell["mixtures"][name] for cell in cells]
        columns = [
            Column(Figure(100 * honesty), [100 * values[0] for values in ours]),
            Column(Figure(100 * curiosity), [100 * values[1] for values in ours]),
        ]
        lines.append(Line([f"{name} mixture", "0.8, 0.2"], columns, ["", *count]))
    for number, beta_s in enumerate(BETAS):
        points = [cell["frontier"][number] for cell in cells]
        columns = [Column(None, [100 * point[place] for point in points]) for place in (1, 2)]
        furthest = max(
            (abs(100 * (honesty + curiosity - 1.5)) for _, honesty, curiosity in points), default=0.0
        )
        label = ["logistic regression", f"{1 - beta_s:g}, {beta_s:g}"]
        lines.append(Line(label, columns, [f"{furthest:.2f}" if points else "", *count]))
    return Section(
        "Sections 3.1, 3.2 and Figure 4: mixtures and the logistic frontier, on quadrants",
        ("model", "β^y, β^s"),
        ("honesty", "curiosity"),
        ("furthest of any seed from δ^y = 1.5 − δ^s", "seeds"),
        lines,
    )
