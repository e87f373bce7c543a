"""Answers of a model with three classes, which is surer of the records that it was trained on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["CLASSES", "scored"]

CLASSES = ("low", "mid", "high")


def scored(count: int = 300, *, surer: float = 2.0, seed: int = 3) -> dict[str, NDArray[np.generic]]:
    """Columns of a file of answers. ``surer``: how much higher the logit of a member's true class is. Women's
    third logit is higher than men's. ``region`` has nothing to do with any of it."""
    draw = np.random.default_rng(seed)
    member, label, woman = draw.random(count) < 0.4, draw.integers(0, 3, count), draw.random(count) < 0.3
    logits = draw.normal(size=(count, 3))
    logits[np.arange(count), label] += 1.0 + surer * member
    logits[:, 2] += 2.0 * woman
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return {
        "id": np.arange(1000, 1000 + count),
        **{f"p_{name}": shares[:, place].round(6) for place, name in enumerate(CLASSES)},
        "label": np.array(CLASSES)[label],
        "in_training": member.astype(int),
        "gender": np.where(woman, "female", "male"),
        "region": draw.choice(["north", "south", "west"], count),
    }
