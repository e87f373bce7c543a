"""Snow: a share of the pixels becomes grey."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.input import InputDefence, input_defences
from leakrange.defences.stages import Parameters
from leakrange.wire.samples import SampleSpec

__all__ = ["Snow", "SnowParameters"]

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
