"""The settings for training a decoder of pictures: its net, and the weights of its loss."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from leakrange.strict import Strict

__all__ = ["LossWeights", "ReconstructorSpec"]

Weight = Annotated[float, Field(ge=0.0, le=100.0)]


class ReconstructorSpec(Strict):
    """A registered net G (`leakrange.nets.reconstructors`); ``width`` scales its layers."""

    name: str = "strided-conv"
    width: Annotated[float, Field(gt=0.0, le=8.0)] = 1.0


class LossWeights(Strict):
    """VICIOUS, Eq. 3: α of 1 − SSIM (``ssim``), γ of the Huber loss (``huber``), and its ``delta``.

    The paper does not give α and γ: the defaults are ours. Pixels lie in [0, 1], so the Huber loss with δ = 1
    is half the mean squared error, and ``huber: 2, ssim: 0`` is the mean squared error alone.
    """

    ssim: Weight = 1.0
    huber: Weight = 5.0
    delta: Annotated[float, Field(gt=0.0, le=1.0)] = 1.0
