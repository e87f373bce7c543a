"""A paper's claims about the order of its rows, held against the measured cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from pydantic import ConfigDict

from leakrange.metrics.clusters import FEW
from leakrange.metrics.intervals import Z95, difference_of_means, holm
from leakrange.papers.cells import Cell
from leakrange.papers.earlier import COLUMN, marks, versions_differ
from leakrange.papers.targets import PaperRow
from leakrange.report.document import PaperLine, PaperSection

__all__ = ["OUTCOMES", "Claim", "Orderings", "RowComparison"]

OUTCOMES = ("holds", "unclear", "does not hold")
NOTHING = "–"
TWO_VERSIONS = "two versions of an attack"
"""The noise of two rows that cannot be compared."""
HOW = (
    "Computed from the rows above, each against the one that is alike in everything else. The margin is what "
    "the row that should be ahead has more, with its 95 % interval, which is not corrected: over the "
    "differences of each seed (Student’s t, paired), or where there is one seed over its victims, the errors "
    "of both rows added up; that is of the two models that were trained, and others may differ. A comparison "
    "is decided where the margin differs from the least that is claimed after Holm’s correction over all "
    "comparisons of this page whose noise is known (of twenty such pages one may err); else it is unclear. "
)


@dataclass(frozen=True)
class Claim:
    """Rows with the fields ``ahead`` have more of a ``figure`` than those with the fields ``behind``, or are
    no more than ``room`` (in the paper's units) below them.

    Two rows are compared that are alike in all other fields, except for those ``differing``. ``why`` is the
    known reason where the claim does not hold.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")  # of those in a sheet

    text: str
    ahead: Mapping[str, str]
    behind: Mapping[str, str]
    figure: str
    room: float = 0.0
    differing: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class RowComparison:
    """A comparison of two ``rows`` of a ``table``: the means over the same seeds, ``ahead`` and ``behind``,
    and the 95 % ``interval`` of the margin between them. The first may be ``room`` (in the paper's units)
    below.

    ``chance`` is the two-sided p-value of a margin of -``room``, and ``noise`` the noise that it was judged
    by; where none is known, interval and chance are None. ``earlier`` are the `marks` of both rows.
    """

    table: str
    rows: str
    room: float
    ahead: float
    behind: float
    interval: tuple[float, float] | None
    chance: float | None
    noise: str
    earlier: str = ""

    def outcome(self, rejected: bool) -> str:
        """One of `OUTCOMES`; ``rejected`` tells whether a margin of -``room`` is rejected."""
        if not rejected:
            return "unclear"
        return "holds" if self.ahead - self.behind > -self.room else "does not hold"


class _Figure(NamedTuple):
    """A figure of one seed, with its 95 % interval over victims, or None twice, and the effective number of
    groups behind that, or None where victims are independent."""

    value: float
    low: float | None
    high: float | None
    groups: float | None


@dataclass(frozen=True)
class Orderings:
    """Decides claims by cells, each with its ``seed``. ``value`` gives a row's figure in a cell, in the
    paper's units, to be written with ``decimals``; ``naming`` are the fields that name the compared rows."""

    value: Callable[[PaperRow, str, Cell], float | None]
    naming: Sequence[str] = ()
    decimals: int = 2

    def sections(
        self, claims: Sequence[Claim], measured: Mapping[PaperRow, Sequence[Cell]]
    ) -> list[PaperSection]:
        """A line for each claim that rows decide, with the number of its comparisons by outcome; and a line
        for each comparison. Empty where nothing can be decided."""
        compared = [(claim, each) for claim in claims for each in self.comparisons(claim, measured)]
        if not compared:
            return []
        tested = [(place, each.chance) for place, (_, each) in enumerate(compared) if each.chance is not None]
        clear = holm([chance for _, chance in tested])
        rejected = {place for (place, _), each in zip(tested, clear, strict=True) if each}
        outcomes = [each.outcome(place in rejected) for place, (_, each) in enumerate(compared)]
        decided = [(claim, outcome) for (claim, _), outcome in zip(compared, outcomes, strict=True)]
        lines = []
        for claim in claims:
            counts = Counter(outcome for each, outcome in decided if each is claim)
            why = claim.why if counts["does not hold"] else ""
            if counts:
                numbers = [str(number) for number in (counts.total(), *map(counts.__getitem__, OUTCOMES))]
                lines.append(PaperLine([claim.text], [], [*numbers, why]))
        title = "Is the order as the paper has it?"
        totals = "; ".join(f"{name}: {outcomes.count(name)}" for name in OUTCOMES)
        remark = f"{HOW}Of all {len(compared)}: {totals}."
        if marked := sum(bool(each.earlier) for _, each in compared):
            remark += (
                f" {marked} of them are of figures that earlier versions of attacks have measured; two "
                "versions of one attack are not compared."
            )
        return [
            PaperSection(title, ("claim",), (), ("compared", *OUTCOMES, "why"), lines, remark),
            self._details(compared, outcomes),
        ]

    def _details(
        self, compared: Sequence[tuple[Claim, RowComparison]], outcomes: Sequence[str]
    ) -> PaperSection:
        """A line for each comparison, which is marked where a figure is of an earlier version."""
        marked = [[each.earlier] for _, each in compared] if any(each.earlier for _, each in compared) else []
        notes = ("ahead", "behind", "margin", "noise of", "outcome", *([COLUMN] if marked else ()))
        details = [
            PaperLine(
                [claim.text, each.table, each.rows],
                [],
                [*self._figures(each), each.noise, outcome, *mark],
            )
            for (claim, each), outcome, mark in zip(
                compared, outcomes, marked or [[] for _ in compared], strict=True
            )
        ]
        return PaperSection("Each comparison", ("claim", "table", "rows"), (), notes, details)

    def comparisons(self, claim: Claim, measured: Mapping[PaperRow, Sequence[Cell]]) -> list[RowComparison]:
        """The comparisons of a claim, each once where rows that are named alike show the same trials."""
        distinct = {(each.rows, each.ahead, each.behind): each for each in self._compared(claim, measured)}
        return list(distinct.values())

    def _compared(self, claim: Claim, measured: Mapping[PaperRow, Sequence[Cell]]) -> Iterator[RowComparison]:
        free = {*claim.ahead, *claim.behind, *claim.differing}
        lower = self._by_seed(claim.behind, claim.figure, measured)
        for first, upper_figures in self._by_seed(claim.ahead, claim.figure, measured).items():
            for second, lower_figures in lower.items():
                alike = all(first[name] == second[name] for name in first.fields if name not in free)
                seeds = sorted(upper_figures.keys() & lower_figures.keys())
                if first is second or first.table != second.table or not alike or not seeds:
                    continue
                pairs = [(upper_figures[seed], lower_figures[seed]) for seed in seeds]
                names = (first.table, self._rows(claim, first, second))
                compared = _compare(names, claim.room, pairs)
                if versions_differ(measured[first], measured[second]):
                    compared = replace(compared, interval=None, chance=None, noise=TWO_VERSIONS)
                yield replace(compared, earlier=marks((*measured[first], *measured[second])))

    def _rows(self, claim: Claim, first: PaperRow, second: PaperRow) -> str:
        """The names of the two compared rows: the fields that the claim does not fix."""
        names_ahead = [first[name] for name in self.naming if first[name] and name not in claim.ahead]
        names_behind = [
            f"against {second[name]}"
            for name in self.naming
            if second[name] not in ("", first[name]) and name not in (*claim.behind, *claim.differing)
        ]
        return ", ".join([*names_ahead, *names_behind])

    def _by_seed(
        self, fields: Mapping[str, str], figure: str, measured: Mapping[PaperRow, Sequence[Cell]]
    ) -> dict[PaperRow, dict[int, _Figure]]:
        """The figure of each measured row with those fields, by seed."""
        by_row = {}
        for row, cells in measured.items():
            if all(row.has(*field) for field in fields.items()):
                figures = {
                    cell["seed"]: _Figure(value, *self._ends(row, figure, cell), cell.get("effective_groups"))
                    for cell in cells
                    if (value := self.value(row, figure, cell)) is not None
                }
                if figures:
                    by_row[row] = figures
        return by_row

    def _ends(self, row: PaperRow, figure: str, cell: Cell) -> tuple[float | None, float | None]:
        """The 95 % interval of a figure over a cell's victims; None twice where the cell holds none."""
        low, high = (
            self.value(row, figure, {name: cell[f"{name}_{end}"] for name in cell if f"{name}_{end}" in cell})
            for end in ("low", "high")
        )
        return low, high

    def _figures(self, compared: RowComparison) -> list[str]:
        places = self.decimals
        margin = f"{compared.ahead - compared.behind:+.{places}f}"
        if compared.interval is not None:
            margin += " ({:+.{places}f} to {:+.{places}f})".format(*compared.interval, places=places)
        return [f"{compared.ahead:.{places}f}", f"{compared.behind:.{places}f}", margin]


def _compare(names: tuple[str, str], room: float, pairs: Sequence[tuple[_Figure, _Figure]]) -> RowComparison:
    """The comparison of ``pairs`` (ahead, behind), one per seed, of a table and rows with those ``names``. It
    is judged by the differences of several seeds that differ, else by the victims."""
    ahead, behind = (float(np.mean([pair[side].value for pair in pairs])) for side in (0, 1))
    over_seeds = difference_of_means(
        {seed: pair[1].value for seed, pair in enumerate(pairs)},
        {seed: pair[0].value for seed, pair in enumerate(pairs)},
    )
    chance = over_seeds.chance(-room)
    if chance is not None:
        return RowComparison(*names, room, ahead, behind, over_seeds.interval, chance, f"{len(pairs)} seeds")
    interval = _over_victims(ahead - behind, pairs)
    if interval is None:
        return RowComparison(*names, room, ahead, behind, None, None, NOTHING)
    above = ahead - behind + room
    half = ahead - behind - interval[0] if above > 0 else interval[1] - (ahead - behind)
    fewest = min(each.groups or FEW for pair in pairs for each in pair)
    noise = "victims" if fewest >= FEW else f"victims, {fewest:.1f} groups of them"
    return RowComparison(*names, room, ahead, behind, interval, _normal(above, half), noise)


def _over_victims(margin: float, pairs: Sequence[tuple[_Figure, _Figure]]) -> tuple[float, float] | None:
    """The 95 % interval of a ``margin`` from those of both rows, mean over seeds; None where a cell has none.

    Both attacks asked about the same victims, and the cells do not hold how their errors vary together: the
    error of a difference is at most the sum of both, however they do.
    """
    below, above = [], []
    for (value, low, high, _), (other, other_low, other_high, _) in pairs:
        if low is None or high is None or other_low is None or other_high is None:
            return None
        below.append(value - low + other_high - other)
        above.append(high - value + other - other_low)
    return margin - float(np.mean(below)), margin + float(np.mean(above))


def _normal(distance: float, half: float) -> float | None:
    """The two-sided p-value of a ``distance`` whose 95 % interval has that ``half`` width; None where the
    width is 0."""
    from scipy.special import ndtr  # here, since not all who import this module have SciPy

    return float(2 * ndtr(-abs(distance) / half * Z95)) if half > 0 else None
