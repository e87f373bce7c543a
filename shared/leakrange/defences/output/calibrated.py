"""Gaussian noise calibrated to a stated differential privacy of each answer."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated

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
from leakrange.defences.output.clip import clip_norm
from leakrange.defences.output.gaussian_mechanism import gaussian_entropy, gaussian_sigma
from leakrange.defences.output.sticky import StickyOrFresh

__all__ = ["CalibratedNoise"]


class CalibratedNoiseParameters(Parameters):
    """``epsilon`` and ``delta`` of one answer; ``clip``: the highest Euclidean norm of a sample's values.

    A ``delta`` below 1e-9 is the difference of two numbers that floats do not tell apart well enough.
    """

    epsilon: Annotated[float, Field(gt=0, le=1e3)]
    delta: Annotated[float, Field(ge=1e-9, lt=1)] = 1e-5
    clip: Annotated[float, Field(gt=0, le=1e6)] = 1.0
    sticky: bool = False


@output_defences.register("calibrated-noise")
class CalibratedNoise(StickyOrFresh[CalibratedNoiseParameters]):
    """Clip each sample's values to Euclidean norm ``clip``, then add N(0, σ²) to each of them.

    σ is the least that makes the answer to one query (ε, δ)-differentially private for replacing the input by
    any other: two clipped vectors are at most 2·clip apart, which is the sensitivity (analytic Gaussian
    mechanism, Balle and Wang 2018). Later stages of the policy take nothing from that.

    It protects the *input* of a query, not the training data: m images of a person asked one by one are m
    answers, whose ε add up (basic composition: m·ε, m·δ), and so are repeats with fresh noise. ``sticky``
    derives the noise from a keyed hash of the query (as `noise` does): a repeat is then the same answer and
    costs nothing, for an attacker who cannot break the hash. Since floats are discrete, the promise holds up
    to what Mironov (2012) reads from their lowest digits.
    """

    Parameters = CalibratedNoiseParameters
    summary = "clip each sample's norm and add Gaussian noise of a stated (epsilon, delta) for each answer"
    shorthand = "epsilon"

    @cached_property
    def sigma(self) -> float:
        """The noise's standard deviation."""
        parameters = self.parameters
        return gaussian_sigma(parameters.epsilon, parameters.delta, sensitivity=2.0 * parameters.clip)

    @property
    @override
    def sticky(self) -> bool:
        """See `StickyOrFresh.sticky`."""
        return self.parameters.sticky

    @override
    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, ...) -> (B, ...). Raises `ValueError` where sticky noise lacks its key or a sample's digest."""
        noise = self.noise("gaussian", values.shape, context)
        return clip_norm(values, self.parameters.clip) + self.sigma * noise

    @override
    def room(self, before: Room, release: Release) -> Room:
        """The bits that a Gaussian channel of power clip² carries."""
        variance = self.sigma**2
        return before.noisy(variance, gaussian_entropy(variance), self.parameters.clip**2)
