"""The entropy of outputs in bits: the room they have to hide something (HBC Section 4.1, Fig. 8)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.heads import parted

__all__ = ["entropy_bits", "entropy_histogram", "softmax"]


def entropy_bits(soft: NDArray[np.floating], heads: Sequence[int] = ()) -> NDArray[np.float64]:
    """Shannon entropy of each row of soft outputs (N, Y): (N,), 0 to log2 Y; the sum over ``heads`` where
    there are several.

    Rows must lie on the simplex within 1e-3. Raises `ValueError` for logits or defended outputs that do not.
    0·log 0 is 0.
    """
    if len(heads) > 1:
        return np.asarray(np.sum([entropy_bits(part) for part in parted(soft, heads)], axis=0))
    values = np.asarray(soft, dtype=np.float64)
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ValueError("entropy needs finite soft outputs of shape (samples, classes)")
    if len(values) and (values.min() < -1e-3 or np.abs(values.sum(axis=1) - 1.0).max() > 1e-3):
        raise ValueError("entropy needs soft outputs: not negative, and adding up to 1 in every row")
    values = np.clip(values, 0.0, 1.0)
    logs = np.log2(values, out=np.zeros_like(values), where=values > 0)
    return np.asarray(-(values * logs).sum(axis=1) + 0.0)


def entropy_histogram(bits: NDArray[np.floating], classes: int, bins: int = 20) -> NDArray[np.int64]:
    """Counts (bins,) of entropies (N,) in equal bins from 0 to log2 ``classes``. Values that rounding took
    beyond the ends go to the end bins."""
    highest = float(np.log2(classes))
    counts, _ = np.histogram(np.clip(bits, 0.0, highest), bins=bins, range=(0.0, highest))
    return counts.astype(np.int64)


def softmax(logits: NDArray[np.floating], heads: Sequence[int] = ()) -> NDArray[np.float64]:
    """The softmax (N, C) of each row of ``logits`` (N, C), finite however large they are; of each of several
    ``heads`` by itself."""
    if len(heads) > 1:
        return np.concatenate([softmax(part) for part in parted(logits, heads)], axis=1)
    values = np.asarray(logits, dtype=np.float64)
    powers = np.exp(values - values.max(axis=1, keepdims=True))
    soft: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return soft
