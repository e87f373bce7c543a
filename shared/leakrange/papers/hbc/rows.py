"""The rows of the paper, and those that we measure beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from leakrange.papers.targets import PaperRow

__all__ = ["PANEL", "RECIPES", "REFIT", "again", "extended"]

RECIPES = ("published", "warm", "logarithm")
"""Ways of training the parameterized attack: as published; with a warm start and a quicker G; or as
published, with a G that reads logarithms."""
REFIT = "refit"
"""The role of a row in which the five nets of the overlearning baseline read a curious model's releases."""
PANEL = "panel"
"""The role of a row in which the panel of learners reads a model's releases."""
FRONTIER = "frontier"
FRONTIERS = (("4", "race-2", "gender"), ("1", "smiling", "male"))
"""Table, target and hidden attribute: both of two classes."""
BETAS = (0.7, 0.6, 0.5, 0.4, 0.3)
"""Weights of y along a frontier; that of s is the rest."""


@cache
def extended(printed: tuple[PaperRow, ...]) -> tuple[PaperRow, ...]:
    """The ``printed`` rows, each followed by its twins of other recipes, and the rows of the frontiers, whose
    figures are those that the tables print."""
    rows = [replace(row, fields={**row.fields, "recipe": RECIPES[0]}) for row in printed]
    twins = [twin for row in rows for twin in (row, *_by_other_recipes(row))]
    return (*twins, *(row for table, y, s in FRONTIERS for row in _along(rows, table, y, s)))


def _by_other_recipes(row: PaperRow) -> list[PaperRow]:
    """The row's twins of other recipes, for soft outputs that a net G reads."""
    if row["attack"] != "parameterized" or row["output"] != "softmax" or row["role"] or row["prune"]:
        return []
    return [replace(row, fields={**row.fields, "recipe": recipe}) for recipe in RECIPES[1:]]


def _along(rows: Sequence[PaperRow], table: str, y: str, s: str) -> list[PaperRow]:
    """Rows of soft parameterized models by either recipe, with all weights."""
    printed = {
        (row.number("beta_y"), row["attack"]): row
        for row in rows
        if (row.table, row["y"], row["s"], row["classifier"]) == (table, y, s, "soft")
    }
    rows_along = []
    for recipe in RECIPES[:2]:
        for beta in BETAS:
            printed_row = printed.get((beta, "parameterized"))
            template = printed_row or next(iter(printed.values()))
            fields = {**template.fields, "attack": "parameterized", "recipe": recipe}
            fields |= {"beta_y": f"{beta:g}", "beta_s": f"{1 - beta:.1g}"}
            figures = printed_row.figures if printed_row else {}
            rows_along.append(PaperRow(table=FRONTIER, fields=fields, figures=figures))
    return rows_along


@cache  # rows are compared by identity, so each call has to return the same ones
def again(row: PaperRow) -> tuple[PaperRow, ...]:
    """The rows in which others read the releases of this row's model: they are fitted on the releases for its
    training samples, and judged on those for the test samples. The panel reads all models, five nets only the
    curious ones: honest models have these as their own attack. Pruned models, students, and points have none.
    """
    if row["role"] or row["prune"] or row["data"] not in ("celeba", "utkface"):
        return ()
    roles = (REFIT, PANEL) if row["attack"] in ("parameterized", "regularized") else (PANEL,)
    return tuple(replace(row, fields={**row.fields, "role": role}) for role in roles)
