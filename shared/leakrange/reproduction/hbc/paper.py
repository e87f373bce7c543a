"""What the paper prints: the rows of Tables 1 to 9 (means and deviations of five runs of 50 epochs, in
percent; entropies in bits), with the corrections of known slips."""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib.resources import files
from typing import Literal

from leakrange.report.document import Figure
from leakrange.wire.errors import InvalidInput

__all__ = ["EPOCHS", "REPETITIONS", "TABLES", "PaperRow", "rows", "select"]

EPOCHS, REPETITIONS = 50, 5
TABLES = {
    "1": "Smiling (target) vs. four attributes, CelebA",
    "2": "HairColor (target) vs. Male, Smiling, Attractive, CelebA",
    "3": "Age (target) vs. Race (sensitive), UTKFace",
    "4": "Race (target) vs. Gender (sensitive), UTKFace",
    "5": "entropy minimisation, Age vs. Race, Y = S = 3",
    "6": "teacher and student, Smiling vs. four attributes",
    "7": "capacity of the classifier, Age vs. Race, Y = S = 3",
    "8": "Race (target) vs. Age (sensitive), UTKFace",
    "9": "Gender (target) vs. Race (sensitive), UTKFace",
    "fig9": "pruning Table 5's models, before they are used",
}
PRUNED = (0.2, 0.4, 0.5, 0.6, 0.8, 0.9)
FILTERS = (
    "y",
    "s",
    "Y",
    "S",
    "classifier",
    "output",
    "attack",
    "role",
    "width",
    "beta_y",
    "beta_s",
    "beta_x",
    "prune",
)
BINARY = 2


@dataclass(frozen=True)
class PaperRow:
    """One printed row. ``classifier`` is honest, raw or soft; ``width`` the output sizes of the layers
    where the table varies them; ``entropy`` is that of the outputs in bits, where printed."""

    table: str
    role: Literal["", "teacher", "student"]
    data: Literal["celeba", "utkface"]
    y: str
    s: str
    classifier: Literal["honest", "raw", "soft"]
    output: Literal["logits", "softmax"]
    attack: Literal["overlearning", "regularized", "parameterized"]
    beta_y: float
    beta_s: float
    beta_x: float
    width: str
    honesty: Figure | None
    curiosity: Figure | None
    entropy: Figure | None
    prune: float = 0.0
    """Share of the weights that the user sets to zero; the paper prints no figure for it."""

    @property
    def classes(self) -> tuple[int, int]:
        """Y and S."""
        return _classes(self.y), _classes(self.s)


def _classes(attribute: str) -> int:
    if attribute == "hair-color":
        return 3
    count = re.search(r"-(\d)$", attribute)
    return int(count[1]) if count else BINARY


@lru_cache(maxsize=1)
def rows() -> tuple[PaperRow, ...]:
    """Every row, in the paper's order, and the sweep of Fig. 9."""
    text = (files("leakrange.reproduction.hbc") / "tables.csv").read_text(encoding="utf-8")
    printed = tuple(_row(line) for line in csv.DictReader(text.splitlines()))
    sweep = [
        replace(row, table="fig9", prune=amount, honesty=None, curiosity=None, entropy=None)
        for row in printed
        if row.table == "5"
        for amount in PRUNED
    ]
    return (*printed, *sweep)


def _row(line: dict[str, str]) -> PaperRow:
    def figure(name: str) -> Figure | None:
        if not line[name]:
            return None
        return Figure(float(line[name]), float(line[f"{name}_std"]) if line[f"{name}_std"] else None)

    words = {
        name: line[name]
        for name in ("table", "role", "data", "y", "s", "classifier", "output", "attack", "width")
    }
    betas = {name: float(line[name]) for name in ("beta_y", "beta_s", "beta_x")}
    figures = {name: figure(name) for name in ("honesty", "curiosity", "entropy")}
    return PaperRow(**words, **betas, **figures)  # type: ignore[arg-type]


def select(table: str, filters: str = "") -> tuple[PaperRow, ...]:
    """The rows of one table that a filter keeps: ``Y=3,S=2|5,classifier=raw|soft`` keeps what has every
    field among its values. Raises `InvalidInput` for an unknown table or field, and where nothing is left."""
    if table not in TABLES:
        raise InvalidInput(f"no table {table!r}; there are: {', '.join(TABLES)}")
    kept = [row for row in rows() if row.table == table]
    for part in filter(None, filters.split(",")):
        field, equals, values = part.strip().partition("=")
        if not equals or field not in FILTERS:
            raise InvalidInput(
                f"{part!r} selects no rows; write field=value|value with: {', '.join(FILTERS)}"
            )
        kept = [row for row in kept if any(_has(row, field, value.strip()) for value in values.split("|"))]
    if not kept:
        raise InvalidInput(f"no row of table {table} has {filters}")
    return tuple(kept)


def _has(row: PaperRow, field: str, value: str) -> bool:
    if field in ("Y", "S"):
        return str(row.classes["YS".index(field)]) == value
    found = getattr(row, field)
    if isinstance(found, float):
        try:
            return found == float(value)
        except ValueError:
            return False
    return bool(found == value)
