from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from leakrange.federation.updates import Update, distance, refusal

SENT = {"w": np.zeros((2, 3), np.float32), "b": np.ones(3, np.float32)}


def update(samples: int = 5, figures: dict[str, float] | None = None, **changed: Any) -> Update:
    return Update(3, samples, {**SENT, **changed}, figures or {})


def test_an_update_in_order_is_taken() -> None:
    moved = update(w=np.full((2, 3), 0.5, np.float32), figures={"loss": 0.7})
    assert refusal(moved, SENT, most_norm=2.0) is None
    assert refusal(moved, SENT, most_norm=2.0, most_samples=5) is None


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (update(w=np.full((2, 3), np.nan, np.float32)), "w holds numbers that are not finite"),
        (update(b=np.array([0, np.inf, 0], np.float32)), "b holds numbers that are not finite"),
        (update(w=np.zeros((3, 2), np.float32)), r"w is float32 of shape \(3, 2\), not float32 of \(2, 3\)"),
        (update(w=np.zeros((2, 3))), "w is float64"),
        (update(w=np.zeros((2, 3), "U3")), "w is <U3"),
        (update(other=np.zeros(1)), "its parameters are named"),
        (Update(3, 5, {"w": SENT["w"]}), "its parameters are named"),
        (update(w=np.full((2, 3), 1e3, np.float32)), "it moved the parameters by 2449, more than 2"),
        (update(w=np.full((2, 3), 3e38, np.float32)), "it moved the parameters by"),
        (update(samples=0), "learned from 0 samples"),
        (update(samples=-4), "learned from -4 samples"),
        (update(samples=21), "learned from 21 samples, and has 20"),
        (update(samples=2**62), f"learned from {2**62} samples, and has 20"),
        (
            update(figures={"accepted": 99.0}),
            r"it tells of 'accepted', and not of \['adversary_loss', 'loss'\]",
        ),
        (update(figures={"loss": float("nan")}), "loss is nan"),
        (update(figures={"loss": 0.1, "adversary_loss": float("inf")}), "adversary_loss is inf"),
    ],
)
def test_what_cannot_be_averaged_is_refused_with_the_reason(given: Update, reason: str) -> None:
    with np.errstate(all="raise"):
        told = refusal(given, SENT, most_norm=2.0, most_samples=20)
    assert told is not None
    assert re.search(reason, told), told


def test_the_bound_is_on_the_norm_of_the_whole_move() -> None:
    moved = update(w=np.full((2, 3), 1.0, np.float32), b=np.array([1.0, 1.0, 4.0], np.float32))
    norm = np.linalg.norm(np.concatenate([np.ones(6), [0, 0, 3]]))
    assert distance(moved.shared, SENT) == pytest.approx(norm)
    assert refusal(moved, SENT, most_norm=norm + 1e-6) is None
    assert refusal(moved, SENT, most_norm=norm - 1e-6) is not None
