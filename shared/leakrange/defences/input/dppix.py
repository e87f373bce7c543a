"""DPPix: coarse pixels with Laplace noise."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import InputDefence, input_defences
from leakrange.defences.stages import Parameters
from leakrange.wire.samples import SampleSpec

__all__ = ["DpPix", "DpPixParameters"]

WHITE = 255.0


class DpPixParameters(Parameters):
    """``epsilon``: ε of each channel by itself, for pictures that differ in at most ``neighbours`` (m)
    pixels. ``block``: b, the side of the squares that become one pixel. The defaults are the paper's, as we
    remember them."""

    epsilon: Annotated[float, Field(gt=0.0, le=1e9)]
    block: Annotated[int, Field(ge=1, le=1024)] = 16
    neighbours: Annotated[int, Field(ge=1, le=2**20)] = 16


@input_defences.register("dppix")
class DpPix(InputDefence[DpPixParameters]):
    """The mean of each b × b square, plus Laplace noise of scale 255·m/(b²·ε), at every place of the square
    (Fan 2018, Image Pixelization with Differential Privacy). For a square that the edge cuts, the number of
    its remaining pixels takes the place of b²."""

    encodings = ("picture",)
    Parameters = DpPixParameters
    summary = "make the pixels of a picture coarse, and add Laplace noise to them"
    paper = "Fan 2018 (DPPix)"
    equation = "mean of b × b + Laplace(255·m/(b²·ε))"
    shorthand = "epsilon"
    noisy = True

    @override
    def apply(self, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator) -> NDArray[Any]:
        """See `InputDefence.apply`."""
        parameters = self.parameters
        rows, columns = (np.arange(0, side, parameters.block) for side in spec.shape[:2])
        across = np.add.reduceat(samples.astype(np.float64), rows, axis=1)
        sums = np.add.reduceat(across, columns, axis=2)
        high, broad = (
            np.diff(starts, append=side) for starts, side in zip((rows, columns), spec.shape[:2], strict=True)
        )
        pixels = np.outer(high, broad)[..., None]
        scale = WHITE * parameters.neighbours / (pixels * parameters.epsilon)
        noisy = sums / pixels + draw.laplace(scale=np.broadcast_to(scale, sums.shape))
        return spec.nearest(noisy.repeat(high, axis=1).repeat(broad, axis=2))
