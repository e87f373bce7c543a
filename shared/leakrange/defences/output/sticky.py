"""Noise that is drawn afresh for each answer, or decided by the query."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable

import numpy as np
from typing_extensions import override

from leakrange.defences.output.base import OutputDefence, ReleaseContext, Values
from leakrange.defences.stages import P

__all__ = ["Draw", "StickyOrFresh", "sticky_noise"]

Draw = Callable[[np.random.Generator, tuple[int, ...]], Values]
"""Draws noise of a shape from a generator."""


class StickyOrFresh(OutputDefence[P]):
    """A defence whose noise is sticky, or drawn afresh for each answer."""

    @property
    @abstractmethod
    def sticky(self) -> bool:
        """Whether a query that is repeated gets the same noise."""

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

    def noise(self, draw: Draw, shape: tuple[int, ...], context: ReleaseContext) -> Values:
        """Noise of ``shape`` (B, ...). Raises as `sticky_noise` does."""
        if self.sticky:
            return sticky_noise(draw, shape, context)
        return draw(context.draw, shape)


def sticky_noise(draw: Draw, shape: tuple[int, ...], context: ReleaseContext) -> Values:
    """Noise of ``shape`` (B, ...), each sample's seeded by a keyed hash of its query and of the stage of
    the policy.

    Repeating a query gives the same noise, so averaging gains nothing. Raises `ValueError` where the key or a
    sample's digest is missing.
    """
    if not context.sticky_key:
        raise ValueError("sticky noise needs a secret key")
    if context.digests is None or len(context.digests) != shape[0]:
        raise ValueError(f"sticky noise needs one digest for each of the {shape[0]} samples")
    rows = []
    for query in context.digests:
        seed = hashlib.blake2b(
            context.stage, key=context.sticky_key[:64], digest_size=16, person=b"sticky-noise"
        )
        seed.update(query)
        # Philox takes the hash as its key as it is: half the time of seeding any other generator.
        philox = np.random.Philox(key=int.from_bytes(seed.digest(), "little"))
        rows.append(draw(np.random.Generator(philox), shape[1:]))
    return np.stack(rows) if rows else np.empty(shape)
