"""Human motion with the same people on both sides of the split."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.motion import MotionSet

__all__ = ["HmpRecordings"]


@datasets.register("hmp-recordings")
class HmpRecordings(MotionSet):
    """For recognising a person: recordings, not people, are held out."""

    name = "hmp-recordings"
    description = "everyday motions at the wrist; which of 16 known people moves is hidden"
    notes = (
        "no official split: 20 % test, drawn by recording with the data seed",
        "f1 has 2,807 of the 5,721 windows, and some people do but one thing",
        "gender is told by the person here: for gender take 'hmp', whose test people are not seen before",
    )

    @classmethod
    def official(cls, person: NDArray[np.int64]) -> None:
        """None: the split is drawn."""
        del person
