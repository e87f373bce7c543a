"""Mortgages that Fannie Mae and Freddie Mac bought, as the Federal Housing Finance Agency publishes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, PlacedSet, datasets
from leakrange.data.samples import Attribute, by_name
from leakrange.data.tables import Category, table
from leakrange.wire.errors import DataUnavailable

__all__ = ["LOANS_COLUMNS", "Loans"]

LOANS_COLUMNS = (
    "enterprise", "record", "metropolitan", "minority", "tract_income_ratio", "borrower_income_ratio",
    "loan_to_value", "purpose", "guarantee", "race", "co_race", "sex", "co_sex", "units", "affordability",
)  # fmt: skip
"""Columns of Single-Family National File A in their order, whole numbers between blanks."""
YEARS = range(2017, 2009, -1)
"""Years in which the file has just these columns."""

INPUTS = (
    Category("enterprise", ("1", "2")),
    Category("metropolitan", ("0", "1")),
    Category("minority", ("1", "2", "3", "9")),
    Category("tract_income_ratio", ("1", "2", "3", "9")),
    Category("borrower_income_ratio", ("1", "2", "3", "9")),
    Category("loan_to_value", ("1", "2", "3", "4", "5", "9")),
    Category("purpose", ("1", "8", "9")),
    Category("guarantee", ("1", "2", "3", "4", "5")),
    Category("sex", ("1", "2", "3", "4", "9")),
    Category("co_sex", ("1", "2", "3", "4", "5", "9")),
)
"""Columns of a sample. All are codes, most of them of intervals; 9 is missing. The co-borrower's race nearly
tells the borrower's, and is left out."""

AFFORDABILITY = (
    "low income, low-income area",
    "very low income, low-income area",
    "very low income, elsewhere",
)
RACES = (
    "American Indian", "Asian", "Black", "Pacific islander", "White", "two or more", "Hispanic",
)  # fmt: skip
WHITE = RACES.index("White")
OTHER, MISSING = 4, 9
HINT = "put the FHFA's files of Single-Family National File A there, unzipped and as they are"


@datasets.register("loans")
class Loans(PlacedSet):
    """Mortgages of families with a low income, in the three categories of affordability of the file.

    The files of both enterprises and one year, 2010 to 2017, are read: the newest ones in the folder. Loans
    of the fourth category, "other", and those without a category are left out.
    """

    name = folder = "loans"
    description = "mortgages of low-income families by affordability; the borrower's race hidden"
    attributes = by_name(
        Attribute("affordability", AFFORDABILITY, "of the family's income, and where it lives"),
        Attribute("race", RACES, "Hispanics are of any race"),
        Attribute("race-2", ("White", "not White"), "as in TAPPFL's Table 2; Hispanics are not"),
    )
    spec = table(INPUTS)
    source = (
        "Enterprise Public Use Database, Single-Family National File A; U.S. Federal Housing Finance Agency"
    )
    notes = (
        "TAPPFL does not tell the year, nor the file, and balances classes: neither is done here",
        "no official split: 20 % test, drawn with the data seed",
        "affordability follows from the borrower's and the tract's income, which a sample holds as intervals",
        "the race of some borrowers is unknown: such rows have no label",
    )
    layouts = tuple((f"fnma_sf{year}a_loans.txt", f"fhlmc_sf{year}a_loans.txt") for year in YEARS)

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The loans in the order of the files, Fannie Mae's first."""
        rows = np.concatenate([_read(path) for path in paths])
        columns = dict(zip(LOANS_COLUMNS, rows.T, strict=True))
        _require("affordability", columns["affordability"], (0, *range(1, OTHER + 1), MISSING))
        _require("race", columns["race"], (*range(1, len(RACES) + 1), MISSING))
        kept = (columns["affordability"] > 0) & (columns["affordability"] < OTHER)
        if not kept.any():
            raise DataUnavailable(f"{paths[0].parent}: no loan is of a low-income family", hint=HINT)
        columns = {name: values[kept] for name, values in columns.items()}
        race = np.where(columns["race"] == MISSING, -1, columns["race"] - 1)
        return Content(
            values=np.concatenate([_marked(column, columns[column.name]) for column in INPUTS], axis=1),
            labels={
                "affordability": columns["affordability"] - 1,
                "race": race,
                "race-2": np.where(race < 0, -1, race != WHITE),
            },
        )


def _read(path: Path) -> NDArray[np.int64]:
    """All rows (N, columns). Raises `DataUnavailable` for a file of another form."""
    try:
        rows = np.loadtxt(path, dtype=np.int64, ndmin=2)
    except (OSError, ValueError) as broken:
        raise DataUnavailable(f"{path} cannot be read: {broken}", hint=HINT) from broken
    if rows.shape[1] != len(LOANS_COLUMNS) or not len(rows):
        raise DataUnavailable(
            f"{path} has {len(rows)} rows of {rows.shape[1]} columns, not of {len(LOANS_COLUMNS)}", hint=HINT
        )
    return rows


def _require(name: str, values: NDArray[np.int64], codes: tuple[int, ...]) -> None:
    if len(strange := np.setdiff1d(values, codes)):
        raise DataUnavailable(
            f"column {name!r} holds {strange[0]}, which is none of {', '.join(map(str, codes))}", hint=HINT
        )


def _marked(column: Category, values: NDArray[np.int64]) -> NDArray[np.float32]:
    """A column for each code, 1 where it is the row's; (N, codes)."""
    codes = tuple(int(code) for code in column.values)
    _require(column.name, values, codes)
    marks: NDArray[np.float32] = (values[:, None] == np.array(codes)).astype(np.float32)
    return marks
