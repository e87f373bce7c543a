"""How many bits of a sample a reconstruction shows, by telling the sample from others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["fano_bits", "matched"]

BLOCK = 1024


def matched(original: NDArray[np.floating], reconstructed: NDArray[np.floating]) -> NDArray[np.bool_]:
    """Whether the original that is nearest to each reconstruction is the right one (V,).

    Both are (V, ...) in one order; nearest by Euclidean distance of their values, in float32. Of originals
    that are equally near the first is taken. Memory grows by V, not by V². Raises `ValueError` for arrays of
    different shapes.
    """
    if original.shape != reconstructed.shape or not original.size:
        raise ValueError(
            f"originals {original.shape} and reconstructions {reconstructed.shape} must be of one shape"
        )
    x, y = (each.reshape(len(each), -1).astype(np.float32) for each in (original, reconstructed))
    centre = x.mean(axis=0)  # large common parts would cost digits
    x, y = x - centre, y - centre
    half = 0.5 * np.einsum("vd,vd->v", x, x)
    # |x − y|² is 2·(|x|²/2 − x·y) + |y|², whose last part all originals share.
    nearest = [(half - y[at : at + BLOCK] @ x.T).argmin(axis=1) for at in range(0, len(y), BLOCK)]
    return np.asarray(np.concatenate(nearest) == np.arange(len(x)))


def fano_bits(right: float, among: int) -> float:
    """A lower bound, in bits, on what an answer tells of which of ``among`` samples it is of, where the share
    ``right`` of samples is identified by it: Fano's inequality, for samples that are equally likely.

    log2 V − h(e) − e·log2(V − 1) with the error rate e = 1 − right and the binary entropy h. At most log2 V,
    whatever else is shown, and 0 where no more are identified than by guessing.
    """
    if not 0.0 <= right <= 1.0 or among < 1:
        raise ValueError("a share lies in [0, 1], and there is one sample or more")
    if among == 1 or right * among <= 1.0:
        return 0.0
    wrong = 1.0 - right
    doubt = -sum(p * math.log2(p) for p in (right, wrong) if p > 0.0)
    return max(0.0, math.log2(among) - doubt - wrong * math.log2(among - 1))
