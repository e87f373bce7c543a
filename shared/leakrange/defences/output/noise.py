"""Gaussian and Laplace noise, of a scale or of a stated differential privacy of each answer; drawn afresh for
each answer, or decided by the query.

Sticky noise is counter-based: a keyed hash of the query gives as many random bits as a sample needs, and its
noise is a function of these bits alone. So the noise of a whole batch is computed at once, and that of one
sample is the same wherever it stands.
"""

from __future__ import annotations

import hashlib
import math
from abc import abstractmethod
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from leakrange.defences.output.base import (
    OutputDefence,
    Parameters,
    Release,
    ReleaseContext,
    Room,
    Values,
    output_defences,
)
from leakrange.defences.output.clip import clip_norm
from leakrange.defences.stages import P

__all__ = ["CalibratedNoise", "Noise", "gaussian_delta", "gaussian_sigma"]

Law = Literal["gaussian", "laplace"]
"""Law of noise around 0: Gaussian of deviation 1, or Laplace of scale 1."""

NAME = b"leakrange sticky noise"
RATE = 168
"""Bytes that SHAKE128 takes in at once."""
ULP = 2.0**-53


class StickyOrFresh(OutputDefence[P]):
    """A defence whose noise is sticky, or drawn afresh for each answer."""

    @property
    @abstractmethod
    def sticky(self) -> bool:
        """Whether a repeated query gets the same noise."""

    @property
    @override
    def deterministic(self) -> bool:
        """True when sticky."""
        return self.sticky

    @property
    @override
    def needs_digests(self) -> bool:
        """True when sticky."""
        return self.sticky

    def noise(self, law: Law, shape: tuple[int, ...], context: ReleaseContext) -> Values:
        """Noise of ``shape`` (B, ...). Raises `ValueError` where sticky noise lacks its key or a
        sample's digest."""
        if self.sticky:
            return sticky_noise(law, shape, context)
        if law == "gaussian":
            return context.draw.standard_normal(shape)
        return context.draw.laplace(size=shape)


def sticky_noise(law: Law, shape: tuple[int, ...], context: ReleaseContext) -> Values:
    """Noise of ``shape`` (B, ...). That of each sample is decided by the secret key, the stage of the policy,
    and the sample's query.

    Repeating a query gives the same noise, so averaging gains nothing; without the key it cannot be told from
    fresh noise. Raises `ValueError` where the key or a sample's digest is missing.
    """
    if not context.sticky_key:
        raise ValueError("sticky noise needs a secret key")
    if context.digests is None or len(context.digests) != shape[0]:
        raise ValueError(f"sticky noise needs one digest for each of the {shape[0]} samples")
    values = int(np.prod(shape[1:], dtype=np.int64))
    if law == "laplace":
        noise = _laplace(_words(context, values))
    else:
        noise = _gaussian(_words(context, values + values % 2))[:, :values]
    return noise.reshape(shape)


def _words(context: ReleaseContext, count: int) -> NDArray[np.uint64]:
    """``count`` words of 64 random bits for each sample, (B, count)."""
    assert context.digests is not None
    # The key fills blocks of its own, as in KMAC (NIST SP 800-185): they are hashed once for the batch.
    header = b"".join(len(each).to_bytes(8, "little") + each for each in (NAME, context.sticky_key))
    keyed = hashlib.shake_128(header + bytes(-len(header) % RATE))
    keyed.update(len(context.stage).to_bytes(8, "little") + context.stage)
    stream = []
    for query in context.digests:
        hasher = keyed.copy()
        hasher.update(query)
        stream.append(hasher.digest(8 * count))
    return np.frombuffer(b"".join(stream), "<u8").reshape(len(stream), count)


def _uniform(words: NDArray[np.uint64]) -> Values:
    """Uniform in (0, 1], from the upper 53 bits."""
    return np.asarray(((words >> np.uint64(11)) + np.uint64(1)) * ULP, np.float64)


def _gaussian(words: NDArray[np.uint64]) -> Values:
    """Two values of each two words, by Box and Muller (1958); (B, 2P) -> (B, 2P)."""
    pairs = words.shape[1] // 2
    uniform = _uniform(words)
    radius = np.sqrt(-2.0 * np.log(uniform[:, :pairs]))
    angle = 2.0 * np.pi * uniform[:, pairs:]
    return np.concatenate((radius * np.cos(angle), radius * np.sin(angle)), axis=1)


def _laplace(words: NDArray[np.uint64]) -> Values:
    """A value of each word: an exponential one, and its sign by the lowest bit."""
    return np.where(words & np.uint64(1), 1.0, -1.0) * np.log(_uniform(words))


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


DEEP = 30.0
"""Deviations from which on the normal tail is taken from its asymptotic series, good to 1e-11; `math.erfc`
becomes 0 at 38."""


def gaussian_delta(ratio: float, epsilon: float) -> float:
    """The least δ for which noise of ``ratio`` = σ/Δ > 0 times the sensitivity is (ε, δ)-private, ε ≥ 0.

    δ = Φ(Δ/2σ − εσ/Δ) − e^ε·Φ(−Δ/2σ − εσ/Δ) (Balle and Wang 2018, Theorem 8). In [0, 1].
    """
    half, shift = 0.5 / ratio, epsilon * ratio
    above = math.exp(_log_normal_tail(shift - half))
    below = math.exp(epsilon + _log_normal_tail(shift + half))  # at most `above`: never overflows
    return min(1.0, max(0.0, above - below))


def gaussian_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """The least σ for which adding N(0, σ²) to every element is (ε, δ)-private (Balle and Wang 2018,
    Algorithm 1), ε > 0, 0 < δ < 1.

    ``sensitivity``: the largest Euclidean distance Δ > 0 between answers on neighbouring inputs. The
    classical σ = Δ·√(2·ln(1.25/δ))/ε holds only for ε ≤ 1 and adds more than need be; this one is exact for
    every ε. δ falls as σ grows, so σ is found by bisection, to 1e-12 and from above.
    """
    low = high = 1.0
    while gaussian_delta(high, epsilon) > delta:
        high *= 2.0
    while gaussian_delta(low, epsilon) <= delta:
        low /= 2.0
    while high - low > 1e-12 * high:
        middle = math.sqrt(low * high)
        if not low < middle < high:
            break
        if gaussian_delta(middle, epsilon) <= delta:
            high = middle
        else:
            low = middle
    return high * sensitivity


def gaussian_entropy(variance: float) -> float:
    """The differential entropy of Gaussian noise of that variance, in bits."""
    return 0.5 * math.log2(2.0 * math.pi * math.e * variance)


def _log_normal_tail(z: float) -> float:
    """ln P(Z > z) of a standard normal Z."""
    if z < DEEP:
        return math.log(math.erfc(z / math.sqrt(2.0)) / 2.0)
    series = -1.0 / z**2 + 3.0 / z**4 - 15.0 / z**6
    return -z * z / 2.0 - math.log(z * math.sqrt(2.0 * math.pi)) + math.log1p(series)


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
