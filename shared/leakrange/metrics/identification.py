"""Bits that a reconstruction shows of a sample, by how well it tells the sample from others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["bits_above_chance", "lists", "places"]

BLOCK = 1024


def places(original: NDArray[np.floating], reconstructed: NDArray[np.floating]) -> NDArray[np.int64]:
    """Number of other originals that are as near to each reconstruction as the right one, or nearer (V,): 0
    where the right one is the nearest.

    Both are (V, ...) in one order; nearest by Euclidean distance of their values, in float32. Memory grows by
    V, not by V². Raises `ValueError` for arrays of different shapes.
    """
    if original.shape != reconstructed.shape or not original.size:
        raise ValueError(
            f"originals {original.shape} and reconstructions {reconstructed.shape} must be of one shape"
        )
    x, y = (each.reshape(len(each), -1).astype(np.float32) for each in (original, reconstructed))
    centre = x.mean(axis=0)  # large common parts would cost digits
    x, y = x - centre, y - centre
    half = 0.5 * np.einsum("vd,vd->v", x, x)
    nearer = np.empty(len(x), dtype=np.int64)
    for start in range(0, len(x), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(x)))
        # |x − y|² is 2·(|x|²/2 − x·y) + |y|², whose last part all originals share.
        distance = half - y[rows] @ x.T
        right = distance[rows - start, rows]
        nearer[rows] = (distance <= right[:, None]).sum(axis=1) - 1
    return nearer


def lists(among: int) -> list[int]:
    """The lengths k of the lists of samples that are tried: 1, 2, 4, ... up to half of all."""
    return [1 << power for power in range(max(among.bit_length() - 1, 0))]


def bits_above_chance(right: float, chance: float) -> float:
    """D(right ‖ chance) in bits, the divergence of two coins, and 0 where ``right`` is no more than
    ``chance``: a lower bound on the information of an answer about which of V samples it belongs to.

    right: the share of samples that are in a list of k, made from the answer; chance: k / V. It is Fano's
    inequality for lists, log2 V − h(e) − e·log2(V − k) − (1 − e)·log2 k with the error rate e = 1 − right and
    the binary entropy h, for samples that are equally likely. It is at most log2 V, whatever else is shown.
    Raises `ValueError` for shares outside [0, 1], or a chance of 0.
    """
    if not 0.0 <= right <= 1.0 or not 0.0 < chance <= 1.0:
        raise ValueError("shares lie in [0, 1], and chance above 0")
    if right <= chance:
        return 0.0
    pairs = ((right, chance), (1.0 - right, 1.0 - chance))
    return max(0.0, sum(p * math.log2(p / q) for p, q in pairs if p > 0.0))
