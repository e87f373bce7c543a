"""The step from the updates of a round to the next global parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.federation.updates import Arrays, Update

__all__ = ["fedavg", "of_type"]


def fedavg(updates: Sequence[Update]) -> Arrays:
    """The mean of the updates' parameters, each weighed by its number of samples (McMahan et al. 2017).

    Summed in float64 in the order of the devices, so that the result does not depend on who answered first.
    Raises `ValueError` without updates.
    """
    if not updates:
        raise ValueError("nothing to aggregate")
    ordered = sorted(updates, key=lambda update: update.device)
    total = sum(update.samples for update in ordered)
    return {
        name: of_type(
            sum(
                (update.samples / total * update.shared[name].astype(np.float64) for update in ordered),
                start=np.zeros(first.shape),
            ),
            first.dtype,
        )
        for name, first in ordered[0].shared.items()
    }


def of_type(mean: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[Any]:
    """A mean as parameters of that type; for integers the nearest one, since 4.999... is a rounded 5."""
    return (np.rint(mean) if np.issubdtype(dtype, np.integer) else mean).astype(dtype)
