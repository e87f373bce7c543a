"""Where a defence's noise comes from: drawn afresh for each answer, or fixed by each query."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np

from leakrange.defences.output.base import ReleaseContext, Values

__all__ = ["Draw", "fresh_noise", "sticky_noise"]

Draw = Callable[[np.random.Generator, tuple[int, ...]], Values]
"""Draws noise of a shape from a generator."""


def fresh_noise(draw: Draw, shape: tuple[int, ...], context: ReleaseContext) -> Values:
    """Noise of ``shape`` (B, ...) that nothing but the context's source decides."""
    return draw(context.draw, shape)


def sticky_noise(draw: Draw, shape: tuple[int, ...], context: ReleaseContext) -> Values:
    """Noise of ``shape`` (B, ...), each sample's seeded by a keyed hash of its query and of the stage of
    the policy.

    Repeating a query gives the same noise, so averaging gains nothing. Raises `ValueError` where the key or a
    sample's digest lacks.
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
