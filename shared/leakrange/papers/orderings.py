"""What a paper says of its tables, held against the measured cells: which rows are ahead of which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from leakrange.metrics.clusters import FEW
from leakrange.metrics.differences import difference_of_means, holm
from leakrange.metrics.intervals import Z95
from leakrange.papers.cells import Cell
from leakrange.papers.targets import Row
from leakrange.report.document import Line, Section

__all__ = ["OUTCOMES", "Claim", "Comparison", "Orderings"]

OUTCOMES = ("holds", "unclear", "does not hold")
NOTHING = "–"
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

    Two rows are compared that are alike in all other fields, but for those ``apart``. ``why`` says what we
    know of the reason where it does not hold.
    """

    text: str
    ahead: Mapping[str, str]
    behind: Mapping[str, str]
    figure: str
    room: float = 0.0
    apart: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class Comparison:
    """Two ``rows`` of a ``table``, and how far the first may be below (``room``, in the paper's units): the
    means over the same seeds, ``ahead`` and ``behind``, and the 95 % ``interval`` of the margin between them.

    ``chance`` is the two-sided p-value of a margin of -``room``, and ``noise`` what it was judged by; of a
    noise that is not known interval and chance are None.
    """

    table: str
    rows: str
    room: float
    ahead: float
    behind: float
    interval: tuple[float, float] | None
    chance: float | None
    noise: str

    def outcome(self, rejected: bool) -> str:
        """One of `OUTCOMES`; ``rejected`` tells whether a margin of -``room`` is."""
        if not rejected:
            return "unclear"
        return "holds" if self.ahead - self.behind > -self.room else "does not hold"


class _Figure(NamedTuple):
    """A figure of one seed, with its 95 % interval over victims, or None twice, and on how many effective
    groups that rests, or None where victims are independent."""

    value: float
    low: float | None
    high: float | None
    groups: float | None


@dataclass(frozen=True)
class Orderings:
    """Decides claims by cells, each with its ``seed``. ``value`` gives a row's figure in a cell, in the
    paper's units, to be written with ``decimals``; ``naming`` are the fields that tell which rows were
    compared."""

    value: Callable[[Row, str, Cell], float | None]
    naming: Sequence[str] = ()
    decimals: int = 2

    def sections(self, claims: Sequence[Claim], measured: Mapping[Row, Sequence[Cell]]) -> list[Section]:
        """A line for each claim that rows decide, with the number of its comparisons by outcome; and a line
        for each comparison. None where nothing can be decided."""
        compared = [(claim, each) for claim in claims for each in self.comparisons(claim, measured)]
        if not compared:
            return []
        tested = [(place, each.chance) for place, (_, each) in enumerate(compared) if each.chance is not None]
        clear = holm([chance for _, chance in tested])
        rejected = {place for (place, _), each in zip(tested, clear, strict=True) if each}
        outcomes = [each.outcome(place in rejected) for place, (_, each) in enumerate(compared)]
        of = [(claim, outcome) for (claim, _), outcome in zip(compared, outcomes, strict=True)]
        lines = []
        for claim in claims:
            counts = Counter(outcome for asked, outcome in of if asked is claim)
            why = claim.why if counts["does not hold"] else ""
            if counts:
                numbers = [str(number) for number in (counts.total(), *map(counts.__getitem__, OUTCOMES))]
                lines.append(Line([claim.text], [], [*numbers, why]))
        details = [
            Line([claim.text, each.table, each.rows], [], [*self._figures(each), each.noise, outcome])
            for (claim, each), outcome in zip(compared, outcomes, strict=True)
        ]
        labels, notes = ("claim", "table", "rows"), ("ahead", "behind", "margin", "noise of", "outcome")
        title = "Is the order as the paper has it?"
        told = "; ".join(f"{name}: {outcomes.count(name)}" for name in OUTCOMES)
        remark = f"{HOW}Of all {len(compared)}: {told}."
        return [
            Section(title, ("claim",), (), ("compared", *OUTCOMES, "why"), lines, remark),
            Section("Each comparison", labels, (), notes, details),
        ]

    def comparisons(self, claim: Claim, measured: Mapping[Row, Sequence[Cell]]) -> list[Comparison]:
        """The comparisons of a claim, each once where rows that are named alike show the same trials."""
        found = {(each.rows, each.ahead, each.behind): each for each in self._compared(claim, measured)}
        return list(found.values())

    def _compared(self, claim: Claim, measured: Mapping[Row, Sequence[Cell]]) -> Iterator[Comparison]:
        told = {*claim.ahead, *claim.behind, *claim.apart}
        lower = self._by_seed(claim.behind, claim.figure, measured)
        for first, ours in self._by_seed(claim.ahead, claim.figure, measured).items():
            for second, theirs in lower.items():
                alike = all(first[name] == second[name] for name in first.fields if name not in told)
                seeds = sorted(ours.keys() & theirs.keys())
                if first is second or first.table != second.table or not alike or not seeds:
                    continue
                pairs = [(ours[seed], theirs[seed]) for seed in seeds]
                names = (first.table, self._rows(claim, first, second))
                yield _compare(names, claim.room, pairs)

    def _rows(self, claim: Claim, first: Row, second: Row) -> str:
        """Which two rows are compared: what the claim does not say of them."""
        ours = [first[name] for name in self.naming if first[name] and name not in claim.ahead]
        theirs = [
            f"against {second[name]}"
            for name in self.naming
            if second[name] not in ("", first[name]) and name not in (*claim.behind, *claim.apart)
        ]
        return ", ".join([*ours, *theirs])

    def _by_seed(
        self, fields: Mapping[str, str], figure: str, measured: Mapping[Row, Sequence[Cell]]
    ) -> dict[Row, dict[int, _Figure]]:
        """The figure of each measured row with those fields, by seed."""
        found = {}
        for row, cells in measured.items():
            if all(row.has(*field) for field in fields.items()):
                figures = {
                    cell["seed"]: _Figure(value, *self._ends(row, figure, cell), cell.get("effective_groups"))
                    for cell in cells
                    if (value := self.value(row, figure, cell)) is not None
                }
                if figures:
                    found[row] = figures
        return found

    def _ends(self, row: Row, figure: str, cell: Cell) -> tuple[float | None, float | None]:
        """The 95 % interval of a figure over a cell's victims; None twice where the cell holds none."""
        low, high = (
            self.value(row, figure, {name: cell[f"{name}_{end}"] for name in cell if f"{name}_{end}" in cell})
            for end in ("low", "high")
        )
        return low, high

    def _figures(self, compared: Comparison) -> list[str]:
        places = self.decimals
        margin = f"{compared.ahead - compared.behind:+.{places}f}"
        if compared.interval is not None:
            margin += " ({:+.{places}f} to {:+.{places}f})".format(*compared.interval, places=places)
        return [f"{compared.ahead:.{places}f}", f"{compared.behind:.{places}f}", margin]


def _compare(names: tuple[str, str], room: float, pairs: Sequence[tuple[_Figure, _Figure]]) -> Comparison:
    """The margin of ``pairs`` (ahead, behind), one a seed, of a table and rows with those ``names``: by their
    differences where there are several that differ, else by their victims."""
    ahead, behind = (float(np.mean([pair[side].value for pair in pairs])) for side in (0, 1))
    over_seeds = difference_of_means(
        {seed: pair[1].value for seed, pair in enumerate(pairs)},
        {seed: pair[0].value for seed, pair in enumerate(pairs)},
    )
    chance = over_seeds.chance(-room)
    if chance is not None:
        return Comparison(*names, room, ahead, behind, over_seeds.interval, chance, f"{len(pairs)} seeds")
    interval = _over_victims(ahead - behind, pairs)
    if interval is None:
        return Comparison(*names, room, ahead, behind, None, None, NOTHING)
    above = ahead - behind + room
    facing = ahead - behind - interval[0] if above > 0 else interval[1] - (ahead - behind)
    least = min(each.groups or FEW for pair in pairs for each in pair)
    noise = "victims" if least >= FEW else f"victims, {least:.1f} groups of them"
    return Comparison(*names, room, ahead, behind, interval, _normal(above, facing), noise)


def _over_victims(margin: float, pairs: Sequence[tuple[_Figure, _Figure]]) -> tuple[float, float] | None:
    """The 95 % interval of a ``margin`` from those of both rows, mean over seeds; None where a cell has none.

    Both were asked about the same victims, and how their errors go together is not in the cells: the error of
    a difference is at most the sum of both, however they do.
    """
    below, above = [], []
    for (ours, low, high, _), (theirs, least, most, _) in pairs:
        if low is None or high is None or least is None or most is None:
            return None
        below.append(ours - low + most - theirs)
        above.append(high - ours + theirs - least)
    return margin - float(np.mean(below)), margin + float(np.mean(above))


def _normal(distance: float, half: float) -> float | None:
    """The two-sided p-value of a ``distance`` whose 95 % interval has that ``half`` width; None of none."""
    from scipy.special import ndtr  # here, since not all who import this module have SciPy

    return float(2 * ndtr(-abs(distance) / half * Z95)) if half > 0 else None
