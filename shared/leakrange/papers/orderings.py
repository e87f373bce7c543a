"""What a paper says of its tables, held against the measured cells: which rows are ahead of which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from leakrange.papers.targets import Row
from leakrange.report.document import Line, Section

if TYPE_CHECKING:
    from leakrange.papers.paper import Measured, Paper

__all__ = ["Claim", "orderings"]


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


def orderings(paper: Paper, claims: Sequence[Claim], measured: Measured) -> list[Section]:
    """One section with a line for each claim that rows decide: in how many comparisons it holds, and the
    figures where it does not; none where nothing can be decided."""
    lines = [line for claim in claims if (line := _line(paper, claim, measured))]
    if not lines:
        return []
    columns = ("compared", "verdict", "where it does not hold", "why")
    remark = (
        "Computed from the rows above: means over the seeds, each row against the one that is alike in "
        "everything else."
    )
    return [Section("Is the order as the paper has it?", ("claim",), (), columns, lines, remark)]


def _line(paper: Paper, claim: Claim, measured: Measured) -> Line | None:
    pairs = list(dict.fromkeys(_pairs(paper, claim, measured)))
    if not pairs:
        return None
    against = [text for text, holds in pairs if not holds]
    verdict = "holds" if not against else "does not hold" if len(against) == len(pairs) else "holds in part"
    held = f"{len(pairs) - len(against)} of {len(pairs)}"
    return Line([claim.text], [], [held, verdict, "; ".join(against), claim.why if against else ""])


def _pairs(paper: Paper, claim: Claim, measured: Measured) -> Iterator[tuple[str, bool]]:
    """Each comparison in words, and whether the claim holds in it."""
    told = {*claim.ahead, *claim.behind, *claim.apart}
    left = {*claim.ahead} - {*claim.behind, *claim.apart}
    lower = _means(paper, claim.behind, claim.figure, measured)
    for first, ours in _means(paper, claim.ahead, claim.figure, measured).items():
        for second, theirs in lower.items():
            alike = all(first[name] == second[name] for name in first.fields if name not in told)
            if first is second or first.table != second.table or not alike:
                continue
            places = paper.decimals
            where = [first[name] for name in paper.naming if first[name] and name not in told]
            where += [f"against {second[name]}" for name in paper.naming if name in left]
            figures = f"{ours:.{places}f} < {theirs:.{places}f}"
            yield f"{', '.join(where)}: {figures}", ours > theirs - claim.room


def _means(paper: Paper, fields: Mapping[str, str], figure: str, measured: Measured) -> dict[Row, float]:
    """The mean figure of each measured row with those fields, in the paper's units."""
    found = {}
    for row, cells in measured.items():
        if all(row.has(*field) for field in fields.items()):
            values = [value for cell in cells if (value := paper.value(row, figure, cell)) is not None]
            if values:
                found[row] = float(np.mean(values))
    return found
