"""UCI Adult, packed or as published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from leakrange.data.adult import ADULT_ATTRIBUTES, ADULT_COLUMNS, ADULT_INPUTS, adult_labels
from leakrange.data.catalogue import Content, datasets
from leakrange.data.placed import PlacedSet
from leakrange.data.samples import SPLITS
from leakrange.data.tables import Column, classes_of, encode, read_csv, same_rows, table

__all__ = ["Adult"]


@datasets.register("adult")
class Adult(PlacedSet):
    """48,842 people of the United States' census of 1994.

    A sample holds none of the hidden attributes, and nothing that equals one: see
    `leakrange.data.adult.ADULT_INPUTS`. ``adult-full`` holds them all.
    """

    name = folder = "adult"
    description = "48,842 people of a census: work, education and income; gender, race, age hidden"
    attributes = ADULT_ATTRIBUTES
    inputs: ClassVar[Sequence[Column]] = ADULT_INPUTS
    spec = table(ADULT_INPUTS)
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
            found = read_csv(paths[0], (*ADULT_COLUMNS, "split"))
            test = classes_of("split", found["split"], {"train": 0, "test": 1})
        else:
            train, rest = (read_csv(path, ADULT_COLUMNS, header=False) for path in paths)
            found = {name: train[name] + rest[name] for name in ADULT_COLUMNS}
            test = np.repeat([0, 1], [len(train["age"]), len(rest["age"])])
        official = np.array([SPLITS.index("train"), SPLITS.index("test")], dtype=np.uint8)[test]
        found["income"] = [income.rstrip(".") for income in found["income"]]
        return Content(
            values=encode(cls.inputs, found),
            labels=adult_labels(found),
            group=same_rows(found, ADULT_COLUMNS),
            official=official,
        )
