"""Gaussian and Laplace noise, fresh or sticky."""

from __future__ import annotations

import hashlib
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from leakrange.defences.output.base import OutputDefence, Parameters, ReleaseContext, Values, output_defences

__all__ = ["Noise"]


class NoiseParameters(Parameters):
    """``scale`` is Gaussian's standard deviation, or Laplace's b (whose deviation is √2·b)."""

    kind: Literal["gaussian", "laplace"] = "gaussian"
    scale: Annotated[float, Field(gt=0, le=1e6)]
    mode: Literal["additive", "multiplicative"] = "additive"
    sticky: bool = False


@output_defences.register("noise")
class Noise(OutputDefence[NoiseParameters]):
    """Add noise to every element.

    multiplicative: the deviation is scale·|x| (FACELEAKS Section 7, N(x, ηx), η = scale). A noisy softmax is
    not renormalised and may hold negative values; a top-k with ``rest: renormalise`` after it brings it back
    to the simplex.

    sticky: a keyed hash of the query seeds the noise, so that repeating a query gives the same answer and
    averaging gains nothing. The stage of the policy goes into the hash: were the same noise scaled by two
    policies, their two answers would give the clean value away.
    """

    Parameters = NoiseParameters
    summary = "add Gaussian or Laplace noise, fresh for each answer or sticky for each query"
    shorthand = "scale"

    @property
    def deterministic(self) -> bool:
        """True when sticky."""
        return self.parameters.sticky

    @property
    def needs_digests(self) -> bool:
        """True when sticky."""
        return self.parameters.sticky

    def apply(self, values: Values, context: ReleaseContext) -> Values:
        """(B, N) -> (B, N). Raises `ValueError` where sticky noise lacks its key or a sample's digest."""
        if self.parameters.sticky:
            noise = self._sticky(values.shape, context)
        else:
            noise = self._draw(context.draw, values.shape)
        if self.parameters.mode == "multiplicative":
            noise = noise * np.abs(values)
        return values + self.parameters.scale * noise

    def _draw(self, generator: np.random.Generator, shape: tuple[int, ...]) -> Values:
        if self.parameters.kind == "gaussian":
            return generator.standard_normal(shape)
        return generator.laplace(size=shape)

    def _sticky(self, shape: tuple[int, ...], context: ReleaseContext) -> Values:
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
            rows.append(self._draw(np.random.Generator(philox), shape[1:]))
        return np.stack(rows) if rows else np.empty(shape)
