"""Gaussian noise on the samples themselves."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import InputDefence, input_defences
from leakrange.defences.stages import Parameters
from leakrange.wire.samples import SampleSpec

__all__ = ["GaussianInput"]


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
