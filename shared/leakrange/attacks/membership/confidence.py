"""A model's confidence in each record's own class, from its releases."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput

__all__ = ["FLOOR", "log_confidence", "scaled_logit"]

FLOOR = 1e-7
"""The least probability that is read from a soft output: values that were rounded, cut or drowned in noise
may be 0 or less, and float32 holds no 1 − p below this."""


def log_confidence(
    releases: NDArray[np.floating], labels: NDArray[np.integer], kind: str
) -> NDArray[np.float64]:
    """log p_y: releases (..., N, Y) and true classes (N,) to (..., N), at most 0.

    For ``kind`` "logits" by log-softmax. For "softmax", values below `FLOOR` are raised to it and each row is
    normalised to sum 1, so that defended outputs can be read as distributions.

    Raises `InvalidInput` for another kind, shapes that do not fit, or values that are not finite.
    """
    true_class, others = _log_odds(releases, labels, kind)
    return true_class - np.logaddexp(true_class, others)


def scaled_logit(
    releases: NDArray[np.floating], labels: NDArray[np.integer], kind: str
) -> NDArray[np.float64]:
    """φ = log(p_y / (1 − p_y)) (Carlini et al. 2022, Section IV), (..., N). Arguments and errors as for
    `log_confidence`.

    1 − p_y is computed as the sum of the other classes' probabilities, not as a difference, so that φ stays
    exact where p_y is near 1.
    """
    true_class, others = _log_odds(releases, labels, kind)
    return true_class - others


def _log_odds(
    releases: NDArray[np.floating], labels: NDArray[np.integer], kind: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Logarithms of p_y and of the sum of the other classes' probabilities, up to a common constant."""
    if kind not in ("logits", "softmax"):
        raise InvalidInput(f"membership is read from logits or softmax, not from {kind}")
    if releases.ndim < 2 or releases.shape[-1] < 2 or releases.shape[-2:-1] != labels.shape:
        raise InvalidInput(f"releases {releases.shape} and {labels.shape} labels do not fit together")
    if len(labels) == 0 or labels.min() < 0 or labels.max() >= releases.shape[-1]:
        raise InvalidInput(f"labels must be at least one, and lie in 0..{releases.shape[-1] - 1}")
    odds = np.empty((2, *releases.shape[:-1]))
    for place in np.ndindex(releases.shape[:-2]):  # one model at a time: many need much memory
        odds[(slice(None), *place)] = _odds_of_one(releases[place], labels, kind)
    return odds[0], odds[1]


def _odds_of_one(
    releases: NDArray[np.floating], labels: NDArray[np.integer], kind: str
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """See `_log_odds`: for the answers (N, Y) of one model to one query of each record."""
    logs = np.asarray(releases, dtype=np.float64)
    if not np.isfinite(logs).all():
        raise InvalidInput("a release holds values that are not finite")
    if kind == "softmax":
        logs = np.log(np.maximum(logs, FLOOR))
    logs = logs - logs.max(axis=-1, keepdims=True)
    mine = np.arange(logs.shape[-1]) == labels[:, np.newaxis]
    true_class = logs[np.arange(len(labels)), labels]
    rest = np.where(mine, -np.inf, logs)
    top = rest.max(axis=-1)
    others = top + np.log(np.exp(rest - top[:, np.newaxis]).sum(axis=-1))
    return true_class, others
