"""Laplace noise on the samples themselves."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import InputDefence, input_defences
from leakrange.defences.stages import Parameters
from leakrange.wire.samples import SampleSpec

__all__ = ["LaplaceInput", "LaplaceInputParameters"]


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
