"""What a paper says of its tables, held against the measured cells: which rows are ahead of which."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from leakrange.papers.cells import Cell
from leakrange.papers.targets import Row
from leakrange.report.document import Line, Section

__all__ = ["Claim", "Orderings"]


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
class Orderings:
    """Decides claims by cells. ``value`` gives a row's figure in a cell, in the paper's units, to be written
    with ``decimals``; ``naming`` are the fields that tell which rows were compared."""

    value: Callable[[Row, str, Cell], float | None]
    naming: Sequence[str] = ()
    decimals: int = 2

    def sections(self, claims: Sequence[Claim], measured: Mapping[Row, Sequence[Cell]]) -> list[Section]:
        """One section with a line for each claim that rows decide: in how many comparisons it holds, and the
        figures where it does not; none where nothing can be decided."""
        lines = [line for claim in claims if (line := self._line(claim, measured))]
        if not lines:
            return []
        columns = ("compared", "verdict", "where it does not hold", "why")
        remark = (
            "Computed from the rows above: means over the seeds, each row against the one that is alike in "
            "everything else."
        )
        return [Section("Is the order as the paper has it?", ("claim",), (), columns, lines, remark)]

    def _line(self, claim: Claim, measured: Mapping[Row, Sequence[Cell]]) -> Line | None:
        pairs = list(dict.fromkeys(self._pairs(claim, measured)))
        if not pairs:
            return None
        against = [text for text, holds in pairs if not holds]
        verdict = (
            "holds" if not against else "does not hold" if len(against) == len(pairs) else "holds in part"
        )
        held = f"{len(pairs) - len(against)} of {len(pairs)}"
        return Line([claim.text], [], [held, verdict, "; ".join(against), claim.why if against else ""])

    def _pairs(self, claim: Claim, measured: Mapping[Row, Sequence[Cell]]) -> Iterator[tuple[str, bool]]:
        """Each comparison in words, and whether the claim holds in it."""
        told = {*claim.ahead, *claim.behind, *claim.apart}
        left = {*claim.ahead} - {*claim.behind, *claim.apart}
        lower = self._means(claim.behind, claim.figure, measured)
        for first, ours in self._means(claim.ahead, claim.figure, measured).items():
            for second, theirs in lower.items():
                alike = all(first[name] == second[name] for name in first.fields if name not in told)
                if first is second or first.table != second.table or not alike:
                    continue
                where = [first[name] for name in self.naming if first[name] and name not in told]
                where += [f"against {second[name]}" for name in self.naming if name in left]
                figures = f"{ours:.{self.decimals}f} < {theirs:.{self.decimals}f}"
                yield f"{', '.join(where)}: {figures}", ours > theirs - claim.room

    def _means(
        self, fields: Mapping[str, str], figure: str, measured: Mapping[Row, Sequence[Cell]]
    ) -> dict[Row, float]:
        """The mean figure of each measured row with those fields."""
        found = {}
        for row, cells in measured.items():
            if all(row.has(*field) for field in fields.items()):
                values = [value for cell in cells if (value := self.value(row, figure, cell)) is not None]
                if values:
                    found[row] = float(np.mean(values))
        return found
