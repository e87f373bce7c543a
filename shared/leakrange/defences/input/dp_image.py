"""DP-Image: a picture with noise in the latent space of an autoencoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import input_defences
from leakrange.defences.input.trained import ObfuscatorParameters
from leakrange.defences.input.translating import Observation, Translation
from leakrange.defences.trained import DefenceConfig
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import Tensor

    from leakrange.defences.translation import Autoencoder

__all__ = ["DpImage", "DpImageParameters"]


class DpImageParameters(ObfuscatorParameters):
    """``epsilon``: ε of a picture against any other. ``latent``: d, the count of numbers that encode a
    picture; its default is ours. The attributes only serve to judge it, and teach it nothing."""

    epsilon: Annotated[float, Field(gt=0.0, le=1e9)]
    latent: Annotated[int, Field(ge=1, le=4096)] = 64


@input_defences.register("dp-image")
class DpImage(Translation[DpImageParameters]):
    """x' = D(E(x) + Laplace(Δ/ε)) (Xue et al. 2021, DP-Image), from an autoencoder that learns E‖x' − x‖²
    with that noise. The d numbers of E lie in [−1, 1], so that Δ = 2d bounds how far two pictures can lie
    apart (L1); the autoencoder and this bound are ours."""

    name = "dp-image"
    encodings = ("picture",)
    noisy = True
    Parameters = DpImageParameters
    summary = "draw the picture anew from a latent vector with Laplace noise"
    paper = "Xue et al. 2021 (DP-Image)"
    equation = "D(E(x) + Laplace(2d/ε))"

    @classmethod
    @override
    def build(cls, parameters: Any, config: DefenceConfig) -> Autoencoder:
        """See `TrainedInputDefence.build`. Raises `ValueError` for samples that are no pictures."""
        from leakrange.defences.translation import Autoencoder

        if reason := cls.misfit(config.input):
            raise ValueError(f"{cls.name}: {reason}")
        return Autoencoder(config.input, parameters.latent, config.net.width)

    @override
    def noise(self, count: int, spec: SampleSpec, draw: np.random.Generator) -> NDArray[np.float32]:
        """Laplace noise (count, latent)."""
        parameters = self.parameters
        scale = 2.0 * parameters.latent / parameters.epsilon
        return draw.laplace(scale=scale, size=(count, parameters.latent)).astype(np.float32)

    @override
    def loss(self, batch: Observation) -> dict[str, Tensor]:
        """See `Translation.loss`."""
        return {"distortion": batch.distortion()}
