"""Age and race classes of UTKFace as in "Honest-but-Curious Nets", Tables 10 and 11."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from leakrange.data.samples import Attribute

__all__ = ["RACES", "UTKFACE_ATTRIBUTES", "utkface_labels"]

RACES = ("White", "Black", "Asian", "Indian", "Other")
"""UTKFace's own race numbers 0..4."""

AGE_BOUNDS: Mapping[int, tuple[int, ...]] = MappingProxyType(
    {2: (30,), 3: (20, 35), 4: (21, 29, 45), 5: (19, 26, 34, 49)}
)
"""Table 10: number of classes to the last year of each class but the last. (Its "30 > a" must read "30 < a".)
"""

RACE_CLASSES: Mapping[int, tuple[tuple[str, ...], ...]] = MappingProxyType(
    {
        2: (("White",), ("Black", "Asian", "Indian", "Other")),
        3: (("White",), ("Asian",), ("Black", "Indian", "Other")),
        4: (("White",), ("Black",), ("Indian",), ("Asian", "Other")),
        5: (("White",), ("Black",), ("Asian",), ("Indian",), ("Other",)),
    }
)
"""Table 11: number of classes to the races of each."""


def _age_names(bounds: tuple[int, ...]) -> tuple[str, ...]:
    between = [f"{low + 1}-{high}" for low, high in pairwise(bounds)]
    return (f"to {bounds[0]}", *between, f"over {bounds[-1]}")


UTKFACE_ATTRIBUTES: Mapping[str, Attribute] = MappingProxyType(
    {"gender": Attribute("gender", ("male", "female"), "UTKFace's coding: 0 male, 1 female")}
    | {
        f"age-{n}": Attribute(f"age-{n}", _age_names(bounds), f"age in {n} classes, years (HBC Table 10)")
        for n, bounds in AGE_BOUNDS.items()
    }
    | {
        f"race-{n}": Attribute(
            f"race-{n}", tuple("/".join(names) for names in classes), f"race in {n} classes (HBC Table 11)"
        )
        for n, classes in RACE_CLASSES.items()
    }
)


def utkface_labels(
    age: NDArray[np.int64], gender: NDArray[np.int64], race: NDArray[np.int64]
) -> dict[str, NDArray[np.int64]]:
    """Labels of all attributes, int64 (N,) each, from years, gender (0 male, 1 female) and race (an index
    into `RACES`).
    """
    labels = {"gender": gender}
    for n, bounds in AGE_BOUNDS.items():
        labels[f"age-{n}"] = np.searchsorted(bounds, age, side="left").astype(np.int64)
    for n, classes in RACE_CLASSES.items():
        table = [next(i for i, names in enumerate(classes) if race_name in names) for race_name in RACES]
        labels[f"race-{n}"] = np.array(table, dtype=np.int64)[race]
    return labels
