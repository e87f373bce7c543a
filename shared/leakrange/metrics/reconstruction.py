"""How near reconstructions come to the originals: in pixels and structure, and by how well they tell the
original from others."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["MAX_PSNR", "ROUNDING", "bits_above_chance", "lists", "places", "psnr", "ssim"]

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


ROUNDING = 1.0 / 255.0**2 / 12.0
"""The mean squared error of rounding pixels in [0, 1] to 8 bits."""
MAX_PSNR = float(-10.0 * np.log10(ROUNDING))
"""The PSNR of a perfect reconstruction: 58.92 dB."""
WINDOW, SIGMA = 11, 1.5
C1, C2 = 0.01**2, 0.03**2
"""Eq. 16's (k1·L)² and (k2·L)², for pixels in [0, 1]."""
BATCH = 256


def psnr(original: NDArray[np.floating], reconstructed: NDArray[np.floating]) -> NDArray[np.float64]:
    """Peak signal-to-noise ratio of each sample in dB: −10·log10 of the mean squared error (V,).

    Both are (V, H, W, C) in [0, 1]. Original pixels have 8 bits, so an error below that of their own rounding
    says nothing: it counts as `ROUNDING`, and a perfect reconstruction has `MAX_PSNR`. Raises `ValueError`
    for pictures of other shapes or ranges.
    """
    _check(original, reconstructed)
    error = [
        ((x.astype(np.float64) - y) ** 2).mean(axis=(1, 2, 3)) for x, y in _batches(original, reconstructed)
    ]
    return np.asarray(-10.0 * np.log10(np.maximum(np.concatenate(error), ROUNDING)))


def ssim(original: NDArray[np.floating], reconstructed: NDArray[np.floating]) -> NDArray[np.float64]:
    """Structural similarity of each sample (V,), 1 where both are equal: the mean of Eq. 16 of VICIOUS over
    windows and channels.

    Both are (V, H, W, C) in [0, 1]. A window is 11 × 11 and Gaussian with σ 1.5 (Wang et al. 2004); only
    windows that lie within the picture count. Raises `ValueError` as `psnr` does, and for pictures smaller
    than a window.
    """
    _check(original, reconstructed)
    height, width = original.shape[1:3]
    if min(height, width) < WINDOW:
        raise ValueError(
            f"SSIM looks at windows of {WINDOW} x {WINDOW} pixels, and these pictures have {height} x "
            f"{width}: enlarge them"
        )
    down, across = _windows(height), _windows(width).T
    similarities = [_similarity(x, y, down, across) for x, y in _batches(original, reconstructed)]
    return np.concatenate(similarities)


def _similarity(
    x: NDArray[np.floating],
    y: NDArray[np.floating],
    down: NDArray[np.float64],
    across: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Means over windows and channels (B,) of one batch (B, H, W, C)."""
    a, b = (np.ascontiguousarray(each.transpose(0, 3, 1, 2), dtype=np.float64) for each in (x, y))
    mean_a, mean_b, square_a, square_b, product = (
        down @ (each @ across) for each in (a, b, a * a, b * b, a * b)
    )
    means, squares = mean_a * mean_b, mean_a**2 + mean_b**2
    covariance, variances = product - means, square_a + square_b - squares
    quality = (2 * means + C1) * (2 * covariance + C2) / ((squares + C1) * (variances + C2))
    return np.asarray(quality.mean(axis=(1, 2, 3)))


def _windows(length: int) -> NDArray[np.float64]:
    """The Gaussian weights of every window along one side: (length − 10, length), a band."""
    weights = np.exp(-0.5 * (np.arange(WINDOW) - WINDOW // 2) ** 2 / SIGMA**2)
    band = np.zeros((length - WINDOW + 1, length))
    for place, row in enumerate(band):
        row[place : place + WINDOW] = weights / weights.sum()
    return band


def _batches(
    x: NDArray[np.floating], y: NDArray[np.floating]
) -> list[tuple[NDArray[np.floating], NDArray[np.floating]]]:
    return [(x[at : at + BATCH], y[at : at + BATCH]) for at in range(0, len(x), BATCH)]


def _check(original: NDArray[np.floating], reconstructed: NDArray[np.floating]) -> None:
    if original.shape != reconstructed.shape or original.ndim != 4 or not original.size:
        raise ValueError(
            f"originals {original.shape} and reconstructions {reconstructed.shape} must both be pictures "
            "(samples, height, width, channels), one or more"
        )
    for values in (original, reconstructed):
        if not (values.min() >= 0.0 and values.max() <= 1.0):  # NaN is neither
            raise ValueError("pixels must lie in [0, 1]: divide those of 8 bits by 255")
