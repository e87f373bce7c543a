"""Mortgages under the Home Mortgage Disclosure Act, packed or as published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, datasets
from leakrange.data.placed import PlacedSet
from leakrange.data.samples import Attribute, by_name
from leakrange.data.tables import Columns, Quantity, classes_of, encode, numbers, read_csv, same_rows, table

__all__ = ["Hmda"]

STANDARDISED = (
    "loan_amount",
    "loan_to_value_ratio",
    "intro_rate_period",
    "property_value",
    "income",
    "debt_to_income_ratio",
)
INPUTS = (
    Quantity("term_360", 0.96033, 0.19519),
    Quantity("conforming", 0.92803, 0.25844),
    Quantity("debt_to_income_ratio_missing", 0.00062, 0.02484),
    Quantity("no_intro_rate_period", 0.94364, 0.23062),
    *(Quantity(f"{name}_std", 0.0, 1.0) for name in STANDARDISED),
)
RACES = ("white", "black", "asian", "amind", "hipac")
BINARY = (*RACES, "hispanic", "non_hispanic", "male", "female", "agegte62", "agelt62")
COMMON = tuple(column.name for column in INPUTS if column.name != "no_intro_rate_period")
TARGET = "high_priced"
PLACES = 4
"""Decimals that are kept of standardised columns, as in the packed file."""


@datasets.register("hmda")
class Hmda(PlacedSet):
    """160,338 mortgages of the United States: are they high-priced? No feature is a hidden attribute."""

    name = folder = "hmda"
    description = "160,338 mortgages, high-priced or not; the borrower's race, gender and age hidden"
    attributes = by_name(
        Attribute("high-priced", ("no", "yes"), "1.5 points above comparable ones"),
        Attribute("race", ("White", "Black", "Asian", "American Indian", "Pacific islander")),
        Attribute("race-2", ("White", "not White"), "as in TAPPFL's Loans table"),
        Attribute("ethnicity", ("not Hispanic", "Hispanic")),
        Attribute("gender", ("female", "male")),
        Attribute("age-group", ("under 62", "62 or older")),
    )
    spec = table(INPUTS)
    source = "public HMDA records, hmda_train_preprocessed of P. Hall's GWU_rml; CC BY 4.0"
    notes = (
        "a stand-in for TAPPFL's Loans table, not the same data",
        "no official split: 20 % test, drawn with the data seed",
        "race, gender and age of many borrowers are unknown: such rows have no label",
        "columns that end in _std were standardised by the source; the others by constants, the mean and "
        "deviation of all rows",
    )
    layouts = (("hmda.csv.gz",), ("hmda_train_preprocessed.csv",))

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The mortgages in the file's order."""
        published = paths[0].name == cls.layouts[1][0]
        intro = "no_intro_rate_period_std" if published else "no_intro_rate_period"
        columns = read_csv(paths[0], (*COMMON, intro, *BINARY, TARGET))
        if published:
            _as_packed(columns, intro)
        values = encode(INPUTS, columns)
        return Content(
            values=values, labels=_labels(columns), group=same_rows(columns, tuple(sorted(columns)))
        )


def _as_packed(columns: dict[str, list[str]], intro: str) -> None:
    """Write the published file's values as the packed one has them: standardised columns to so many decimals,
    the standardised mark of loans without an introductory rate as 0 and 1, and yes or no without a point."""
    for name in (f"{name}_std" for name in STANDARDISED):
        columns[name] = [str(value) for value in np.round(numbers(name, columns[name]), PLACES)]
    columns["no_intro_rate_period"] = [str(int(value > 0)) for value in numbers(intro, columns.pop(intro))]
    for name in BINARY:
        columns[name] = [value.removesuffix(".0") for value in columns[name]]


def _labels(columns: Columns) -> dict[str, NDArray[np.int64]]:
    race = _one_of(columns, RACES)
    return {
        "high-priced": classes_of(TARGET, columns[TARGET], ("0", "1")),
        "race": race,
        "race-2": np.minimum(race, 1),
        "ethnicity": _one_of(columns, ("non_hispanic", "hispanic")),
        "gender": _one_of(columns, ("female", "male")),
        "age-group": _one_of(columns, ("agelt62", "agegte62")),
    }


def _one_of(columns: Columns, names: Sequence[str]) -> NDArray[np.int64]:
    """Index of the column that is 1, int64 (N,); -1 where none is."""
    marks = np.stack([classes_of(name, columns[name], {"": 0, "0": 0, "1": 1}) for name in names])
    return np.where(marks.any(axis=0), marks.argmax(axis=0), -1)
