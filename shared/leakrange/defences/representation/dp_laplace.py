"""DP-Laplace: devices send clipped moves of the extractor's parameters with Laplace noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.noised import Noised

__all__ = ["DpLaplace"]


@representation_defences.register("dp-laplace")
class DpLaplace(Noised):
    """Moves are clipped to ``clip`` in the L1 norm; the noise has the scale ``noise · clip``, and √2 times
    that as its standard deviation."""

    name = "dp-laplace"
    summary = "devices clip what they learned of the extractor and add Laplace noise"
    equation = "θ + clip₁(θ' - θ) + Laplace(noise·clip)"
    mechanism = "laplace"

    @override
    def drawn(self, draw: np.random.Generator, scale: float, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """See `Noised.drawn`; ``scale`` is the mean magnitude."""
        return draw.laplace(0.0, scale, shape)
