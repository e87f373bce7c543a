"""What the paper says of its tables, held against the measured cells: which model is ahead of which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from leakrange.papers.hbc.rows import REFIT
from leakrange.papers.paper import Measured
from leakrange.papers.targets import Row
from leakrange.report.document import Line, Section

__all__ = ["orderings"]

Fields = Mapping[str, str]
RAW = {"classifier": "raw", "attack": "parameterized", "beta_y": "0.7", "beta_x": "0"}
SOFT = {"classifier": "soft", "attack": "parameterized", "recipe": "published", "beta_x": "0"}
HONEST = {"classifier": "honest", "beta_x": "0"}
AMONG = ("table", "data", "y", "s", "width", "prune", "role")
"""Two rows are compared that have all of these in common, but those that a claim says itself."""


@dataclass(frozen=True)
class Claim:
    """Rows with the fields ``ahead`` have more of a ``figure`` than those with the fields ``behind``, or are
    no more than ``room`` (in the figure's unit) below them."""

    text: str
    ahead: Fields
    behind: Fields
    figure: str = "curiosity"
    room: float = 0.0
    same: tuple[str, ...] = field(default=())
    """What two compared rows have in common besides."""


CLAIMS = (
    Claim(
        "raw outputs tell more than nets find in those of an honest model", RAW, HONEST | {"output": "logits"}
    ),
    Claim(
        "their honesty is no more than 2 points below",
        RAW,
        HONEST | {"output": "logits"},
        figure="honesty",
        room=0.02,
    ),
    Claim("raw outputs tell more than soft ones, both at (.7, .3)", RAW, SOFT | {"beta_y": "0.7"}),
    Claim(
        "soft outputs at (.7, .3) tell more than nets find in those of an honest model",
        SOFT | {"beta_y": "0.7"},
        HONEST | {"output": "logits"},
    ),
    Claim(
        "soft outputs tell more at (.5, .5) than at (.7, .3)",
        SOFT | {"beta_y": "0.5"},
        SOFT | {"beta_y": "0.7"},
    ),
    Claim(
        "of two classes, the regularized attack tells more than the parameterized one at (.5, .5)",
        {"attack": "regularized", "beta_y": "0.5", "Y": "2"},
        SOFT | {"beta_y": "0.5"},
    ),
    Claim(
        "entropy minimisation lowers the entropy of raw outputs",
        RAW,
        RAW | {"beta_x": "0.4"},
        figure="entropy",
    ),
    Claim("it costs them no more than 3 points of curiosity", RAW | {"beta_x": "0.4"}, RAW, room=0.03),
    Claim(
        "a warm start tells more than the published recipe (ours)",
        SOFT | {"recipe": "warm"},
        SOFT,
        same=("beta_y",),
    ),
    Claim(
        "a warm start tells no more than 3 points less than a G that reads logarithms (ours)",
        SOFT | {"recipe": "warm"},
        SOFT | {"recipe": "logarithm"},
        room=0.03,
        same=("beta_y",),
    ),
)


def orderings(measured: Measured) -> Section | None:
    """A line for each claim that rows decide: in how many it holds, and the figures where it does not. None
    where nothing can be decided."""
    lines = [line for claim in CLAIMS if (line := _line(claim, measured))]
    if not lines:
        return None
    names = ("compared", "verdict", "where it does not hold")
    remark = "Means over the seeds of the rows above, each compared with the row of the same attributes."
    return Section("Is the order as the paper has it?", ("claim",), (), names, lines, remark)


def _line(claim: Claim, measured: Measured) -> Line | None:
    pairs = list(dict.fromkeys(_pairs(claim, measured)))
    if not pairs:
        return None
    against = [text for text, holds in pairs if not holds]
    verdict = "holds" if not against else "does not hold" if len(against) == len(pairs) else "holds in part"
    held = f"{len(pairs) - len(against)} of {len(pairs)}"
    return Line([claim.text], [], [held, verdict, "; ".join(against)])


def _pairs(claim: Claim, measured: Measured) -> Iterator[tuple[str, bool]]:
    """Each comparison in words, and whether the claim holds in it."""
    for first in _rows(claim.ahead, measured):
        for second in _rows(claim.behind, measured):
            told = {*claim.ahead, *claim.behind}
            if any(
                _of(first, name) != _of(second, name) for name in (*AMONG, *claim.same) if name not in told
            ):
                continue
            ours, theirs = (float(np.mean([c[claim.figure] for c in measured[r]])) for r in (first, second))
            scale, unit = (1.0, " bits") if claim.figure == "entropy" else (100.0, "")
            figures = f"{scale * ours:.2f} against {scale * theirs:.2f}{unit}"
            where = f"{first['s']} behind {first['y']}"
            if claim.same:
                where += f", β^y {first.number('beta_y'):g}"
            yield f"{where}: {figures}", ours > theirs - claim.room


def _rows(fields: Fields, measured: Measured) -> list[Row]:
    return [
        row
        for row, cells in measured.items()
        if cells
        and row.table not in ("fig4", "detection")
        and row["role"] != REFIT
        and all(row.has(*each) for each in fields.items())
    ]


def _of(row: Row, name: str) -> str:
    return row.table if name == "table" else row[name]
