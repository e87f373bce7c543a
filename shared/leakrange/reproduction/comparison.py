"""Paper, ours and the difference, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakrange.reproduction.hbc.paper import Figure

__all__ = ["Column", "Line", "table"]

NOTHING = "–"


@dataclass(frozen=True)
class Column:
    """One figure of a row: what the paper prints, and ours under every seed, in the paper's units."""

    name: str
    paper: Figure | None
    ours: Sequence[float]

    def cells(self) -> tuple[str, str, str]:
        """Paper, ours and difference, to two decimals; deviations over seeds where there are several."""
        paper = NOTHING if self.paper is None else _spread(self.paper.mean, self.paper.deviation)
        if not self.ours:
            return paper, NOTHING, NOTHING
        mean = float(np.mean(self.ours))
        deviation = float(np.std(self.ours, ddof=1)) if len(self.ours) > 1 else None
        difference = NOTHING if self.paper is None else f"{mean - self.paper.mean:+.2f}"
        return paper, _spread(mean, deviation), difference


@dataclass(frozen=True)
class Line:
    """A row: its labels, its figures, and what stands behind them."""

    labels: Sequence[str]
    columns: Sequence[Column]
    notes: Sequence[str]


def _spread(mean: float, deviation: float | None) -> str:
    return f"{mean:.2f}" + ("" if deviation is None else f" ± {deviation:.2f}")


def table(labels: Sequence[str], notes: Sequence[str], lines: Sequence[Line]) -> str:
    """A Markdown table, three cells for each column of the lines, which all have the same columns."""
    names = [column.name for column in lines[0].columns]
    header = [*labels]
    for name in names:
        header += [f"{name}: paper", "ours", "difference"]
    header += notes
    rows = [header, ["---"] * len(header)]
    for line in lines:
        cells = [*line.labels]
        for column in line.columns:
            cells += column.cells()
        rows.append([*cells, *line.notes])
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)
