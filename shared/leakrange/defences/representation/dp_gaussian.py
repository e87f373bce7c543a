"""DP-Gaussian: devices send clipped moves of the extractor's parameters with Gaussian noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.noised import Noised

__all__ = ["DpGaussian"]


@representation_defences.register("dp-gaussian")
class DpGaussian(Noised):
    """Moves are clipped to ``clip`` in the L2 norm; the noise has the standard deviation ``noise · clip``."""

    name = "dp-gaussian"
    summary = "devices clip what they learned of the extractor and add Gaussian noise"
    equation = "θ + clip₂(θ' - θ) + N(0, (noise·clip)²)"
    mechanism = "gaussian"

    @override
    def drawn(self, draw: np.random.Generator, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """See `Noised.drawn`; ``scale`` is the standard deviation."""
        return draw.normal(0.0, scale, shape)
