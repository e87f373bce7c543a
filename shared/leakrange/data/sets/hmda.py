"""Mortgages under the Home Mortgage Disclosure Act, packed or as published."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leakrange.data.catalogue import Content, datasets
from leakrange.data.columns import Coded, Marked, numbers
from leakrange.data.samples import by_name
from leakrange.data.tables import Quantity, TableSet, read_csv, table

__all__ = ["Hmda"]

STANDARDISED = (
    "loan_amount",
    "loan_to_value_ratio",
    "intro_rate_period",
    "property_value",
    "income",
    "debt_to_income_ratio",
)
INTRO = "no_intro_rate_period"
"""The one column that the published file has under another name, standardised."""
INPUTS = (
    Quantity("term_360", 0.96033, 0.19519),
    Quantity("conforming", 0.92803, 0.25844),
    Quantity("debt_to_income_ratio_missing", 0.00062, 0.02484),
    Quantity(INTRO, 0.94364, 0.23062),
    *(Quantity(f"{name}_std", 0.0, 1.0) for name in STANDARDISED),
)
RACES = ("white", "black", "asian", "amind", "hipac")
BINARY = (*RACES, "hispanic", "non_hispanic", "male", "female", "agegte62", "agelt62")
PLACES = 4
"""Decimals that are kept of standardised columns, as in the packed file."""


@datasets.register("hmda")
class Hmda(TableSet):
    """160,338 mortgages of the United States: are they high-priced? No feature is a hidden attribute."""

    name = folder = "hmda"
    description = "160,338 mortgages, high-priced or not; the borrower's race, gender and age hidden"
    attributes = by_name(
        Coded(
            "high-priced",
            ("no", "yes"),
            "1.5 points above comparable ones",
            column="high_priced",
            codes=("0", "1"),
        ),
        Marked("race", ("White", "Black", "Asian", "American Indian", "Pacific islander"), marks=RACES),
        Marked(
            "race-2",
            ("White", "not White"),
            "as in TAPPFL's Loans table",
            marks=RACES,
            into=(0, 1, 1, 1, 1),
        ),
        Marked("ethnicity", ("not Hispanic", "Hispanic"), marks=("non_hispanic", "hispanic")),
        Marked("gender", ("female", "male"), marks=("female", "male")),
        Marked("age-group", ("under 62", "62 or older"), marks=("agelt62", "agegte62")),
    )
    inputs = INPUTS
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
        if paths[0].name != cls.layouts[1][0]:
            return super().opened(paths)
        others = [name for name in cls.names() if name != INTRO]
        return cls.rows(_as_packed(read_csv(paths[0], (*others, f"{INTRO}_std"))))


def _as_packed(columns: dict[str, list[str]]) -> dict[str, list[str]]:
    """The published file's values as the packed one has them: standardised columns to so many decimals, the
    standardised mark of loans without an introductory rate as 0 and 1, and marks without a point."""
    for name in (f"{name}_std" for name in STANDARDISED):
        columns[name] = [str(value) for value in np.round(numbers(name, columns[name]), PLACES)]
    for name in BINARY:
        columns[name] = [value.removesuffix(".0") for value in columns[name]]
    intro = numbers(f"{INTRO}_std", columns.pop(f"{INTRO}_std"))
    return columns | {INTRO: [str(int(value > 0)) for value in intro]}
