"""The update that a device sends after a round, the server's check of it, and the mean of several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["FIGURES", "Arrays", "Lost", "Update", "distance", "fedavg", "of_type", "refusal"]

FIGURES = frozenset({"adversary_loss", "loss"})
"""Names of figures that a device may report of its training."""

Arrays = Mapping[str, NDArray[Any]]
"""Parameters by name."""


@dataclass(frozen=True)
class Update:
    """The ``shared`` parameters as ``device`` has trained them, on so many ``samples``; ``figures`` are those
    that it reports, such as its losses."""

    device: int
    samples: int
    shared: Arrays
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Lost:
    """No update came from ``device``, for that ``reason``."""

    device: int
    reason: str


def distance(shared: Arrays, sent: Arrays) -> float:
    """The L2 norm of the difference of all parameters."""
    squares = (
        float(np.square(shared[name].astype(np.float64) - sent[name].astype(np.float64)).sum())
        for name in sent
    )
    return float(np.sqrt(sum(squares)))


def refusal(update: Update, sent: Arrays, most_norm: float, most_samples: float = math.inf) -> str | None:
    """The reason that the server does not take ``update``, None where it does: other names, shapes or types
    than those of the parameters that were ``sent``, other figures than `FIGURES`, numbers that are not
    finite, no samples or more than ``most_samples``, a move of more than ``most_norm``."""
    if set(update.shared) != set(sent):
        return f"its parameters are named {sorted(update.shared)[:3]}, not {sorted(sent)[:3]}"
    for name, array in sent.items():
        answer = update.shared[name]
        if answer.shape != array.shape or answer.dtype != array.dtype:
            return f"{name} is {answer.dtype} of shape {answer.shape}, not {array.dtype} of {array.shape}"
        if not np.isfinite(answer).all():
            return f"{name} holds numbers that are not finite"
    for name, figure in update.figures.items():
        if name not in FIGURES:
            return f"it tells of {name!r}, and not of {sorted(FIGURES)}"
        if not math.isfinite(figure):
            return f"its {name} is {figure}"
    if update.samples < 1:
        return f"it says that it learned from {update.samples} samples"
    if update.samples > most_samples:
        return f"it says that it learned from {update.samples} samples, and has {most_samples}"
    if (moved := distance(update.shared, sent)) > most_norm:
        return f"it moved the parameters by {moved:.4g}, more than {most_norm:g}"
    return None


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
