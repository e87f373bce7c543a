"""UCI Adult: the columns of the census table, what is asked and hidden, and what a sample holds of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from leakrange.data.samples import Attribute
from leakrange.data.tables import Category, Column, Columns, Quantity, classes_of, numbers

__all__ = ["ADULT_ATTRIBUTES", "ADULT_COLUMNS", "ADULT_EVERY_INPUT", "ADULT_INPUTS", "adult_labels"]

ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation",
    "relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country",
    "income",
)  # fmt: skip
"""In the order of adult.data and adult.test."""

RACES = ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other")
MARITAL = (
    "Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent", "Never-married",
    "Separated", "Widowed",
)  # fmt: skip
AGES = (29, 38, 49)
"""The ages at which groups begin after the first: quarters of the training rows, nearly."""

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

ADULT_INPUTS: Sequence[Column] = (
    WORKCLASS, EDUCATION, OCCUPATION, CAPITAL_GAIN, CAPITAL_LOSS, HOURS, COUNTRY,
)  # fmt: skip
"""Those of the table that hold no hidden attribute, and nothing that equals one or nearly tells it: not sex,
race, age, marital status, nor relationship (husband, wife). Education is given as its number alone, and
``fnlwgt`` is the census' weight, not a property of the person."""

ADULT_EVERY_INPUT: Sequence[Column] = (
    Quantity("age", 38.58165, 13.64022),
    *ADULT_INPUTS,
    Category("marital_status", MARITAL),
    Category(
        "relationship", ("Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife")
    ),
    Category("race", RACES),
    Category("sex", ("Female", "Male")),
)
"""All of the table's, hidden attributes included."""

ADULT_ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(
    {
        "income": Attribute("income", ("up to 50K", "over 50K"), "whether it exceeds 50,000 dollars a year"),
        "gender": Attribute("gender", ("female", "male"), "the table's 'sex'"),
        "race": Attribute("race", RACES, "as the census names them"),
        "race-2": Attribute("race-2", ("White", "not White"), "White or any other"),
        "age-group": Attribute("age-group", ("to 28", "29-37", "38-48", "over 48"), "nearly quarters"),
        "marital-status": Attribute("marital-status", MARITAL, "the seven of TAPPFL's Table 2"),
    }
)


def adult_labels(found: Columns) -> dict[str, NDArray[np.int64]]:
    """Labels of `ADULT_ATTRIBUTES` from the table's columns; the test file's incomes end in a full stop.

    Raises `DataUnavailable` for values that the table does not have.
    """
    incomes = {"<=50K": 0, "<=50K.": 0, ">50K": 1, ">50K.": 1}
    race = classes_of("race", found["race"], {name: i for i, name in enumerate(RACES)})
    return {
        "income": classes_of("income", found["income"], incomes),
        "gender": classes_of("sex", found["sex"], {"Female": 0, "Male": 1}),
        "race": race,
        "race-2": (race > 0).astype(np.int64),
        "age-group": np.searchsorted(AGES, numbers("age", found["age"]), side="right").astype(np.int64),
        "marital-status": classes_of(
            "marital_status", found["marital_status"], {name: i for i, name in enumerate(MARITAL)}
        ),
    }
