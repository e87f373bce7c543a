"""From the updates of a round to the next global parameters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakrange.federation.updates import Arrays, Update

__all__ = ["fedavg"]


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
        name: sum(
            (update.samples / total * update.shared[name].astype(np.float64) for update in ordered),
            start=np.zeros(first.shape),
        ).astype(first.dtype)
        for name, first in ordered[0].shared.items()
    }
