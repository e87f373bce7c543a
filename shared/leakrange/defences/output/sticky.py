"""Noise that is drawn afresh for each answer, or decided by the query.

Sticky noise is counter-based: a keyed hash of the query gives as many random bits as a sample needs, and its
noise is a function of these bits alone. So the noise of a whole batch is computed at once, and that of one
sample is the same wherever it stands.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from leakrange.defences.output.base import OutputDefence, ReleaseContext, Values
from leakrange.defences.stages import P

__all__ = ["Law", "StickyOrFresh", "sticky_noise"]

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
        """Noise of ``shape`` (B, ...). Raises as `sticky_noise` does."""
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
