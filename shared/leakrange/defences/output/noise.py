"""Gaussian and Laplace noise, fresh or sticky."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field
from typing_extensions import override

from leakrange.defences.output.base import (
    Parameters,
    Release,
    ReleaseContext,
    Room,
    Values,
    output_defences,
)
from leakrange.defences.output.gaussian_mechanism import gaussian_entropy
from leakrange.defences.output.sticky import StickyOrFresh

__all__ = ["Noise"]


class NoiseParameters(Parameters):
    """``scale`` is Gaussian's standard deviation, or Laplace's b (whose deviation is √2·b)."""

    kind: Literal["gaussian", "laplace"] = "gaussian"
    scale: Annotated[float, Field(gt=0, le=1e6)]
    mode: Literal["additive", "multiplicative"] = "additive"
    sticky: bool = False


@output_defences.register("noise")
class Noise(StickyOrFresh[NoiseParameters]):
    """Add noise to every element.

    multiplicative: the deviation is scale·|x| (FACELEAKS Section 7, N(x, ηx), η = scale). A noisy softmax is
    not renormalised and may hold negative values; ``normalise`` after it brings it back to the simplex, and
    features back to length 1.

    sticky: a keyed hash of the query decides the noise, so that repeating a query gives the same answer and
    averaging gains nothing. The stage of the policy goes into the hash: if two policies scaled the same
    noise, their two answers would give the clean value away.
    """

    Parameters = NoiseParameters
    summary = "add Gaussian or Laplace noise, fresh for each answer or sticky for each query"
    shorthand = "scale"

    @property
    @override
    def sticky(self) -> bool:
        """See `StickyOrFresh.sticky`."""
        return self.parameters.sticky

    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, ...) -> (B, ...). Raises `ValueError` where sticky noise lacks its key or a sample's digest."""
        noise = self.noise(self.parameters.kind, values.shape, context)
        if self.parameters.mode == "multiplicative":
            noise = noise * np.abs(values)
        return values + self.parameters.scale * noise

    @override
    def room(self, before: Room, release: Release) -> Room:
        """The bits that get through additive noise, where the values are bounded."""
        parameters = self.parameters
        if parameters.mode == "multiplicative":
            return before.unknown
        if parameters.kind == "gaussian":
            return before.noisy(parameters.scale**2, gaussian_entropy(parameters.scale**2), before.power)
        return before.noisy(
            2.0 * parameters.scale**2, math.log2(2.0 * math.e * parameters.scale), before.power
        )
