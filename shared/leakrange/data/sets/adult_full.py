"""UCI Adult with every column of the table among the inputs."""

from __future__ import annotations

from leakrange.data.adult import ADULT_EVERY_INPUT
from leakrange.data.catalogue import datasets
from leakrange.data.sets.adult import Adult
from leakrange.data.tables import table

__all__ = ["AdultFull"]


@datasets.register("adult-full")
class AdultFull(Adult):
    """The same people with all that the table tells of them: what is hidden can be read from the sample."""

    name = "adult-full"
    description = "the same people with every column, sex, race, age and marital status included"
    inputs = ADULT_EVERY_INPUT
    spec = table(ADULT_EVERY_INPUT)
    notes = ("samples hold the hidden attributes themselves", *Adult.notes[1:])
