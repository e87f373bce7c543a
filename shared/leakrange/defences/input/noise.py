"""Noise on the samples themselves: on their values, on their pixels, or over coarse pixels."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import InputDefence, input_defences
from leakrange.defences.stages import Parameters
from leakrange.wire.samples import SampleSpec

__all__ = ["DpPix", "GaussianInput", "LaplaceInput", "Snow"]


class GaussianInputParameters(Parameters):
    """``sigma``: the standard deviation, in units of a net's input: from black to white it is 2, and a column
    of a table that is scaled to deviation 1 has deviation 1."""

    sigma: Annotated[float, Field(gt=0.0, le=1e3)]


@input_defences.register("gaussian-input")
class GaussianInput(InputDefence[GaussianInputParameters]):
    """Add N(0, sigma²) to each value as a net sees it. Results beyond the range of the sample's type
    are cut."""

    Parameters = GaussianInputParameters
    summary = "add Gaussian noise to the sample, within the range that its values have"
    shorthand = "sigma"
    noisy = True

    @override
    def apply(self, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator) -> NDArray[Any]:
        """See `InputDefence.apply`."""
        noise = self.parameters.sigma * np.asarray(spec.scale) * draw.standard_normal(samples.shape)
        return spec.nearest(samples + noise)


class LaplaceInputParameters(Parameters):
    """``epsilon``: ε of each value by itself. ``sensitivity``: Δ, the distance between its two farthest
    values, in units of a net's input: from black to white it is 2."""

    epsilon: Annotated[float, Field(gt=0.0, le=1e9)]
    sensitivity: Annotated[float, Field(gt=0.0, le=1e6)] = 2.0


@input_defences.register("laplace-input")
class LaplaceInput(InputDefence[LaplaceInputParameters]):
    """Add Laplace noise of scale Δ/ε to each value as a net sees it. Results beyond the range of the sample's
    type are cut."""

    Parameters = LaplaceInputParameters
    summary = "add Laplace noise to the sample, within the range that its values have"
    paper = "Dwork et al. 2006"
    equation = "x + Laplace(Δ/ε)"
    shorthand = "epsilon"
    noisy = True

    @override
    def apply(self, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator) -> NDArray[Any]:
        """See `InputDefence.apply`."""
        parameters = self.parameters
        noise = draw.laplace(scale=parameters.sensitivity / parameters.epsilon, size=samples.shape)
        return spec.nearest(samples + noise * np.asarray(spec.scale))


GREY = 127


class SnowParameters(Parameters):
    """``share``: p, the probability that a pixel is covered."""

    share: Annotated[float, Field(gt=0.0, le=1.0)]


@input_defences.register("snow")
class Snow(InputDefence[SnowParameters]):
    """Each pixel becomes grey (127 in all channels) with probability p, so that the value of a single pixel
    is (0, 1 − p)-differentially private (John et al. 2020, Let It Snow)."""

    encodings = ("picture",)
    Parameters = SnowParameters
    summary = "cover a share of a picture's pixels with grey"
    paper = "John et al. 2020 (Snow)"
    equation = "127 with probability p"
    shorthand = "share"
    noisy = True

    @override
    def apply(self, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator) -> NDArray[Any]:
        """See `InputDefence.apply`."""
        covered = draw.random((*samples.shape[:-1], 1)) < self.parameters.share
        return np.where(covered, np.uint8(GREY), samples)


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
