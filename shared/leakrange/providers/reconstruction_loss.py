"""The loss of a decoder of pictures: structural similarity and Huber loss (VICIOUS, Eqs. 3, 16, 17).

All pictures are (B, C, H, W) in [0, 1].
"""

from __future__ import annotations

import math
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional as f

from leakrange.providers.reconstruction import LossWeights

__all__ = ["reconstruction_loss", "ssim"]

WINDOW, SIGMA = 11, 1.5
K1, K2 = 0.01, 0.03


def reconstruction_loss(drawings: Tensor, samples: Tensor, weights: LossWeights) -> Tensor:
    """The loss α·(1 − SSIM) + γ·Huber_δ, the mean over pictures and pixels (Eqs. 3, 17; the sign of the SSIM
    term is that of a loss)."""
    loss = weights.huber * f.huber_loss(drawings, samples, delta=weights.delta)
    if weights.ssim:
        loss = loss + weights.ssim * (1.0 - ssim(drawings, samples).mean())
    return loss


def ssim(drawings: Tensor, samples: Tensor) -> Tensor:
    """The structural similarity of each pair of pictures (B,), in [-1, 1] (Eq. 16).

    The window is Gaussian, 11×11 with a deviation of 1.5 pixels, and lies within the picture; L = 1. The mean
    is over windows and channels. Raises `ValueError` for pictures that are smaller than a window.
    """
    rows, columns = drawings.shape[2:]
    left, right = _windows(rows).to(drawings), _windows(columns).to(drawings).T

    def local(values: Tensor) -> Tensor:
        """The mean of each window."""
        return left @ values @ right

    drawn_mean, mean = local(drawings), local(samples)
    drawn_variance = local(drawings * drawings) - drawn_mean**2
    variance = local(samples * samples) - mean**2
    covariance = local(drawings * samples) - drawn_mean * mean
    c1, c2 = K1**2, K2**2
    luminance = (2 * drawn_mean * mean + c1) / (drawn_mean**2 + mean**2 + c1)
    structure = (2 * covariance + c2) / (drawn_variance + variance + c2)
    return (luminance * structure).mean(dim=(1, 2, 3))


@lru_cache(8)
def _windows(side: int) -> Tensor:
    """The weights of all windows along a side, (side − 10, side), one window a row. Two products of matrices
    filter a picture faster on a CPU than a convolution of 11×11 does."""
    if side < WINDOW:
        raise ValueError(f"a window of {WINDOW} pixels does not fit into a picture of {side}")
    weights = [math.exp(-((place - WINDOW // 2) ** 2) / (2 * SIGMA**2)) for place in range(WINDOW)]
    windows = torch.zeros(side - WINDOW + 1, side, dtype=torch.float64)
    for row in range(len(windows)):
        windows[row, row : row + WINDOW] = torch.tensor(weights, dtype=torch.float64) / sum(weights)
    return windows
