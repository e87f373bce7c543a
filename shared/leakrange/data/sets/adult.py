"""UCI Adult, a census: packed, as published, and from OpenML."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from leakrange.data.catalogue import Content, GivenSet, datasets
from leakrange.data.columns import Coded, Columns, GroupedColumn, classes_of
from leakrange.data.hub import cache_folder
from leakrange.data.samples import by_name
from leakrange.data.tables import Category, Column, Quantity, TableSet, read_csv, table
from leakrange.wire.errors import DataUnavailable

__all__ = ["ADULT_COLUMNS", "Adult", "AdultFull", "HubAdult"]

ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
    "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country",
    "income",
)  # fmt: skip
"""Columns in the order of adult.data and adult.test."""

RACES = ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")
MARITAL = (
    "Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent", "Never-married",
    "Separated", "Widowed",
)  # fmt: skip

# Means and deviations are those of the official training rows.
EDUCATION = Quantity("education_num", 10.08068, 2.57268)
CAPITAL_GAIN = Quantity("capital_gain", 1077.64884, 7385.17868)
CAPITAL_LOSS = Quantity("capital_loss", 87.30383, 402.95403)
HOURS = Quantity("hours_per_week", 40.43746, 12.34724)
WORKCLASS = Category(
    "workclass",
    (
        "?", "Federal-gov", "Local-gov", "Never-worked", "Private", "Self-emp-inc", "Self-emp-not-inc",
        "State-gov", "Without-pay",
    ),
)  # fmt: skip
OCCUPATION = Category(
    "occupation",
    (
        "?", "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing",
        "Handlers-cleaners", "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty",
        "Protective-serv", "Sales", "Tech-support", "Transport-moving",
    ),
)  # fmt: skip
COUNTRY = Category(
    "native_country",
    (
        "?", "Cambodia", "Canada", "China", "Columbia", "Cuba", "Dominican-Republic", "Ecuador",
        "El-Salvador", "England", "France", "Germany", "Greece", "Guatemala", "Haiti",
        "Holand-Netherlands", "Honduras", "Hong", "Hungary", "India", "Iran", "Ireland", "Italy",
        "Jamaica", "Japan", "Laos", "Mexico", "Nicaragua", "Outlying-US(Guam-USVI-etc)", "Peru",
        "Philippines", "Poland", "Portugal", "Puerto-Rico", "Scotland", "South", "Taiwan", "Thailand",
        "Trinadad&Tobago", "United-States", "Vietnam", "Yugoslavia",
    ),
)  # fmt: skip

INPUTS: Sequence[Column] = (
    WORKCLASS, EDUCATION, OCCUPATION, CAPITAL_GAIN, CAPITAL_LOSS, HOURS, COUNTRY,
)  # fmt: skip
"""Columns that hold no hidden attribute, and nothing that equals one or nearly tells it: not sex, race, age,
marital status, nor relationship (husband, wife). Education is given as its number alone, and ``fnlwgt`` is
the census' weight, not a property of the person."""

EVERY_INPUT: Sequence[Column] = (
    Quantity("age", 38.58165, 13.64022),
    *INPUTS,
    Category("marital_status", MARITAL),
    Category(
        "relationship", ("Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife")
    ),
    Category("race", RACES),
    Category("sex", ("Female", "Male")),
)
"""All columns of the table, hidden attributes included."""

ATTRIBUTES = by_name(
    Coded(
        "income",
        ("up to 50K", "over 50K"),
        "whether it exceeds 50,000 dollars a year",
        codes=("<=50K", ">50K"),
    ),
    Coded("gender", ("female", "male"), "the table's 'sex'", column="sex", codes=("Female", "Male")),
    Coded("race", RACES, "as the census names them"),
    Coded(
        "race-2",
        ("White", "not White"),
        "White or any other",
        column="race",
        codes={race: int(race != "White") for race in RACES},
    ),
    GroupedColumn(
        "age-group",
        ("to 28", "29-37", "38-48", "over 48"),
        "nearly quarters",
        column="age",
        begins=(29, 38, 49),
    ),
    Coded("marital-status", MARITAL, "the seven of TAPPFL's Table 2", column="marital_status"),
)


@datasets.register("adult")
class Adult(TableSet):
    """48,842 people of the United States' census of 1994.

    A sample holds none of the hidden attributes, and nothing that equals one: see `INPUTS`. ``adult-full``
    holds them all.
    """

    name = folder = "adult"
    description = "48,842 people of a census: work, education and income; gender, race, age hidden"
    attributes = ATTRIBUTES
    inputs = INPUTS
    spec = table(INPUTS)
    source = "UCI Machine Learning Repository, B. Becker and R. Kohavi, 1996; CC BY 4.0"
    official_split = True
    notes: ClassVar[tuple[str, ...]] = (
        "samples hold no sex, race, age, marital status or relationship: these are hidden, or tell what is",
        "quantities are standardised by constants, the mean and deviation of the official training rows",
    )
    layouts = (("adult.csv.gz",), ("adult.data", "adult.test"))

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """Training rows, then test rows, as in the two published files."""
        if len(paths) == 1:
            columns = read_csv(paths[0], (*ADULT_COLUMNS, "split"))
            tested = classes_of("split", columns.pop("split"), ("train", "test")) == 1
        else:
            train, rest = (read_csv(path, ADULT_COLUMNS, header=False) for path in paths)
            columns = {name: train[name] + rest[name] for name in ADULT_COLUMNS}
            tested = np.arange(len(columns["age"])) >= len(train["age"])
        # in the test file incomes end in a full stop
        columns["income"] = [income.rstrip(".") for income in columns["income"]]
        return cls.rows(columns, tested)


@datasets.register("adult-full")
class AdultFull(Adult):
    """The same people with every column of the table: hidden attributes can be read from the sample."""

    name = "adult-full"
    description = "the same people with every column, sex, race, age and marital status included"
    inputs = EVERY_INPUT
    spec = table(EVERY_INPUT)
    notes = ("samples hold the hidden attributes themselves", *Adult.notes[1:])


@datasets.register("hub-adult")
class HubAdult(GivenSet):
    """The people of ``adult``, downloaded once; OpenML does not mark the official test rows."""

    name = "hub-adult"
    description = "48,842 people of a census, downloaded from OpenML"
    attributes = ATTRIBUTES
    spec = table(INPUTS)
    source = "adult, version 2, on OpenML; UCI Machine Learning Repository, CC BY 4.0"
    notes = (
        "no official split: 20 % test, drawn with the data seed",
        "samples hold no sex, race, age, marital status or relationship: these are hidden, or tell what is",
    )

    @classmethod
    def available(cls) -> str | None:
        """None where scikit-learn is installed; whether OpenML can be reached shows when it is loaded."""
        return None if find_spec("sklearn") else "scikit-learn downloads it: pip install 'leakrange[models]'"

    @classmethod
    def content(cls) -> Content:
        """The table. The first time it is downloaded, later it is read from ``$LEAKRANGE_CACHE/openml``."""
        from sklearn.datasets import fetch_openml

        home = cache_folder()
        # Version 2 is the one with all of the 48,842 rows as they are.
        options = {"as_frame": False, "parser": "liac-arff", "n_retries": 1, "delay": 0.1}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about its retries
                bunch = fetch_openml("adult", version=2, data_home=str(home), **options)
        # However OpenML cannot be reached or its answer read, it is one of these.
        except (OSError, ValueError, KeyError) as failed:
            raise DataUnavailable(
                f"data set {cls.name!r} cannot be downloaded from OpenML: {failed}",
                hint=f"connect to the network, copy {home}/openml from a machine that has it, or use 'adult'",
            ) from failed
        return Adult.rows(_from_openml(bunch))


def _from_openml(bunch: Any) -> Columns:
    """The table's columns in the result of scikit-learn's ``fetch_openml``, whose names are numbers of
    ``categories``. Raises `DataUnavailable` where columns are missing."""
    places = {name.replace("-", "_"): i for i, name in enumerate(bunch.feature_names)}
    missing = [name for name in ADULT_COLUMNS[:-1] if name not in places]
    if missing:
        raise DataUnavailable(
            f"OpenML's adult lacks the columns: {', '.join(missing)}", hint="use 'adult', which is packed"
        )
    named = {name.replace("-", "_"): values for name, values in bunch.categories.items()}
    columns = {name: _text(bunch.data[:, places[name]], named.get(name)) for name in ADULT_COLUMNS[:-1]}
    columns["income"] = [str(income) for income in bunch.target]
    return columns


def _text(values: Any, names: list[str] | None) -> list[str]:
    """A column as the published files write it; an unknown name is "?"."""
    if names is None:
        return [f"{value:.0f}" for value in values]
    return ["?" if np.isnan(value) else names[int(value)] for value in values]
