"""SSIM and Huber loss as training sees them (VICIOUS, Eqs. 3, 16, 17)."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as f

from leakrange.providers.reconstruction import LossWeights
from leakrange.providers.reconstruction_loss import reconstruction_loss, ssim


def pair(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    first = torch.rand(*shape, generator=generator, dtype=torch.float64)
    return first, (first + 0.2 * torch.randn(*shape, generator=generator, dtype=torch.float64)).clamp(0, 1)


def convolved(found: torch.Tensor, samples: torch.Tensor) -> torch.Tensor:
    """SSIM by two-dimensional convolutions, written from Eq. 16."""
    line = torch.exp(-((torch.arange(11, dtype=torch.float64) - 5) ** 2) / (2 * 1.5**2))
    window = torch.outer(line, line) / line.sum() ** 2

    def local(x: torch.Tensor) -> torch.Tensor:
        return f.conv2d(x.flatten(0, 1).unsqueeze(1), window[None, None]).unflatten(0, x.shape[:2])

    a, b = local(found), local(samples)
    va, vb = local(found**2) - a**2, local(samples**2) - b**2
    ab = local(found * samples) - a * b
    index = (2 * a * b + 1e-4) * (2 * ab + 9e-4) / ((a**2 + b**2 + 1e-4) * (va + vb + 9e-4))
    return index.flatten(1).mean(dim=1)


def test_ssim_is_eq_16_over_every_window() -> None:
    found, samples = pair(5, 3, 16, 23)
    torch.testing.assert_close(ssim(found, samples), convolved(found, samples), rtol=1e-9, atol=1e-9)
    assert torch.allclose(ssim(samples, samples), torch.ones(5, dtype=torch.float64))


def test_the_loss_is_the_weighted_sum_of_eq_3() -> None:
    found, samples = pair(4, 1, 16, 16)
    squared = ((found - samples) ** 2).mean()
    weights = LossWeights(ssim=0.7, huber=3.0)
    expected = 0.7 * (1 - convolved(found, samples).mean()) + 3.0 * 0.5 * squared
    assert float(reconstruction_loss(found, samples, weights)) == pytest.approx(float(expected), rel=1e-9)
    only = LossWeights(ssim=0.0, huber=2.0)
    assert float(reconstruction_loss(found, samples, only)) == pytest.approx(float(squared), rel=1e-12)


def test_below_delta_the_error_is_squared_and_above_it_is_linear() -> None:
    samples = torch.zeros(1, 1, 16, 16, dtype=torch.float64)
    weights = LossWeights(ssim=0.0, huber=1.0, delta=0.25)
    for value, expected in ((0.1, 0.5 * 0.1**2), (0.9, 0.25 * (0.9 - 0.125))):
        assert float(reconstruction_loss(samples + value, samples, weights)) == pytest.approx(expected)


def test_the_gradients_are_those_of_the_function() -> None:
    found, samples = pair(2, 1, 12, 13)
    weights = LossWeights(ssim=1.0, huber=5.0, delta=0.15)
    assert torch.autograd.gradcheck(
        lambda x: reconstruction_loss(x, samples, weights), found.requires_grad_(True)
    )


def test_a_picture_smaller_than_a_window_is_refused() -> None:
    found, samples = pair(1, 1, 10, 16)
    with pytest.raises(ValueError, match="does not fit"):
        ssim(found, samples)
