"""In which order the attacks come: what the papers say of it, held against the measured cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakrange.papers.cells import Cell
from leakrange.papers.paper import Measured
from leakrange.papers.targets import Row
from leakrange.report.document import Line, Section

__all__ = ["Claim", "order", "verdict"]

FIGURES = {"auc": "AUC", "tpr_at_001": "TPR at 1 % FPR", "tpr_at_0001": "TPR at 0.1 % FPR"}
LOW = ("tpr_at_001", "tpr_at_0001")
OPEN, UNCLAIMED = "–", "not claimed"


@dataclass(frozen=True)
class Claim:
    """One attack is ahead of another with as many shadow models; each is named by its kind and mode."""

    text: str
    ahead: tuple[str, str]
    behind: tuple[str, str]


CLAIMS = (
    Claim("RMIA offline is ahead of LiRA offline", ("rmia", "offline"), ("lira", "offline")),
    Claim("RMIA online is ahead of LiRA online", ("rmia", "online"), ("lira", "online")),
    Claim("LiRA online is ahead of LiRA offline", ("lira", "online"), ("lira", "offline")),
    Claim("RMIA online is ahead of RMIA offline", ("rmia", "online"), ("rmia", "offline")),
)
LAST = "the loss threshold is last"


def order(title: str, table: str, measured: Measured) -> Section | None:
    """The claims that the rows of ``table`` decide, a line for each number of shadows; None where there are
    none."""
    cells = {
        (row["attack"], row["mode"], int(row.number("shadows"))): found
        for row, found in measured.items()
        if row.table == table and found and not _unusual(row)
    }
    lines = []
    for claim in CLAIMS:
        for shadows in sorted({number for *attack, number in cells if tuple(attack) == claim.ahead}):
            first, second = cells[*claim.ahead, shadows], cells.get((*claim.behind, shadows))
            if second:
                told = [verdict(name, first, [second]) for name in FIGURES]
                lines.append(Line([claim.text, str(shadows)], [], told))
    loss = next((found for (attack, *_), found in cells.items() if attack == "loss-threshold"), None)
    others = [found for (attack, *_), found in cells.items() if attack != "loss-threshold"]
    if loss and others:
        told = [verdict(name, loss, others, last=True) if name in LOW else UNCLAIMED for name in FIGURES]
        lines.append(Line([LAST, "all"], [], told))
    remark = (
        "Computed from the cells above: means over the targets, and in how many of them the same is found. "
        "Carlini et al. place online above offline and the loss threshold last at low FPR; Zarifzadeh et al. "
        "place RMIA above LiRA, most where models are few."
    )
    return Section(title, ("claim", "shadows"), (), tuple(FIGURES.values()), lines, remark) if lines else None


def verdict(name: str, one: Sequence[Cell], others: Sequence[Sequence[Cell]], *, last: bool = False) -> str:
    """Whether ``one`` has more of a figure than each of ``others``, or with ``last`` less: the means in
    percent (of the nearest of the others), and in how many targets, cell by cell, it is so. A figure that a
    cell lacks leaves it open."""
    if any(name not in cell for cells in (one, *others) for cell in cells):
        return OPEN
    sign = -1.0 if last else 1.0
    mine = np.mean([cell[name] for cell in one])
    nearest = max(np.mean([cell[name] for cell in cells]) * sign for cells in others) * sign
    targets = min(len(cells) for cells in (one, *others))
    agree = sum(
        all(sign * one[seed][name] > sign * cells[seed][name] for cells in others) for seed in range(targets)
    )
    holds = "holds" if sign * mine > sign * nearest else "does not hold"
    relation = "<" if mine < nearest else ">" if mine > nearest else "="
    figures = f"{100 * mine:.2f} {relation} {100 * nearest:.2f}"
    return f"{holds} ({figures}; {agree} of {targets})"


def _unusual(row: Row) -> bool:
    return any(row[name] for name in ("variance", "gamma", "a"))
