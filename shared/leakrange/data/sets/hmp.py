"""Human motion with other people in the test than in the training."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.motion import PEOPLE, MotionSet
from leakrange.data.samples import SPLITS

__all__ = ["Hmp"]

TESTED = ("f3", "f4", "m2", "m3")
"""Two women and two men with a fifth of all windows, who do twelve of the fourteen things between them."""


@datasets.register("hmp")
class Hmp(MotionSet):
    """For inferring gender: the four people of the test are in no other split.

    Who was seen in training would be recognised, and the gender with the person. Auxiliary and validation
    windows are of the twelve others, cut by recording.
    """

    name = "hmp"
    description = "everyday motions at the wrist; the gender of people not seen before is hidden"
    official_split = True
    notes = (
        "the split is Leakrange's own: f3, f4, m2 and m3 are test, whoever is asked after",
        "among the other twelve, f1 has three of five windows: gender and person are entangled",
        "nobody in the test eats; a window's group is its recording",
    )

    @classmethod
    def official(cls, person: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Test for windows of the four, training for the others."""
        tested = np.isin(person, [PEOPLE.index(name) for name in TESTED])
        return np.where(tested, SPLITS.index("test"), SPLITS.index("train")).astype(np.uint8)
