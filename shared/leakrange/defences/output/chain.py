"""Chains of output defences, which policies are made of, and the most bits that a release can carry after
one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.defences.output.base import (
    CLASS_SCORES,
    OutputDefence,
    Release,
    ReleaseContext,
    Values,
    output_defences,
)
from leakrange.defences.output.room import FLOAT_BITS, Room
from leakrange.defences.stages import InvalidChain, canonical, read_stage, whole_mistakes
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput
from leakrange.wire.heads import parted

__all__ = ["Chain", "InvalidChain", "upper_bits"]


@dataclass(frozen=True)
class Chain:
    """Defences in the order in which they run. ``Chain(())`` releases everything unchanged."""

    stages: tuple[tuple[str, OutputDefence[Any]], ...] = ()

    @classmethod
    def parse(cls, spec: Any) -> Chain:
        """Read a list of names, each bare, with parameters, or with one value.

        E.g. ``[{round: {decimals: 1}}, {temperature: 2}, argmax]``. Raises `InvalidChain` with every mistake.
        """
        mistakes = whole_mistakes(spec)
        links = [read_stage(item, index, output_defences, mistakes) for index, item in enumerate(spec)]
        if mistakes:
            raise InvalidChain(mistakes)
        return cls(tuple(link for link in links if link))

    def spec(self) -> list[dict[str, Any]]:
        """The canonical form, which `parse` reads."""
        return canonical(self.stages)

    def digest(self) -> str:
        """The policy's identity (SHA-256, hex): the same for all spellings of the same chain."""
        return digest(self.spec())

    @property
    def transforms(self) -> bool:
        """Whether it may change values at all."""
        return bool(self.stages)

    @cached_property
    def deterministic(self) -> bool:
        """Whether asking again gives the same answer."""
        return all(stage.deterministic for _, stage in self.stages)

    @cached_property
    def needs_digests(self) -> bool:
        """Whether a stage has sticky noise, which needs each sample's digest and a secret."""
        return any(stage.needs_digests for _, stage in self.stages)

    @cached_property
    def price(self) -> float:
        """The `OutputDefence.price` of an answer: that of the first stage, since what stands before a noise
        may widen what it has to hide, and what comes after takes nothing from its promise."""
        return self.stages[0][1].price if self.stages else math.inf

    def steps(self, release: Release) -> list[tuple[OutputDefence[Any], Release]]:
        """Each stage with the kind of its input, for a first release of that kind."""
        steps = []
        for _, stage in self.stages:
            steps.append((stage, release))
            release = stage.makes(release)
        return steps

    def makes(self, release: Release) -> Release:
        """The kind of the values after all stages, for a first release of that kind."""
        for _, stage in self.stages:
            release = stage.makes(release)
        return release

    def refuse(self, release: Release, rank: int = 1) -> str | None:
        """The reason that the chain cannot take that release kind, with ``rank`` axes for each sample, or
        None when it can."""
        return None if (release, rank) in self._plans else self._refusal(release, rank)

    def _refusal(self, release: Release, rank: int) -> str | None:
        for (name, _), (stage, kind) in zip(self.stages, self.steps(release), strict=True):
            if kind not in stage.consumes:
                kinds = ", ".join(sorted(stage.consumes))
                return f"{name} means nothing on a {kind} release; it takes {kinds}"
            if stage.vectors and rank != 1:
                others = ", ".join(each for each, other in output_defences.items() if not other.vectors)
                return (
                    f"{name} takes vectors, (samples, N), and these releases have {rank} axes a sample: "
                    f"leave it out of the chain; releases of any rank are for {others}"
                )
        return None

    @cached_property
    def by_head(self) -> bool:
        """Whether a stage needs to know the heads of class scores."""
        return any(stage.by_head for _, stage in self.stages)

    @cached_property
    def _places(self) -> tuple[bytes, ...]:
        policy = self.digest()
        return tuple(f"{policy}:{index}".encode() for index in range(len(self.stages)))

    @cached_property
    def _plans(self) -> dict[tuple[Release, int], tuple[_Step, ...]]:
        return {}

    def _plan(self, release: Release, rank: int) -> tuple[_Step, ...]:
        """The steps for such releases. They are cached, since finding them costs more than running them.
        Raises `InvalidInput`."""
        plan = self._plans.get((release, rank))
        if plan is None:
            if reason := self.refuse(release, rank):
                raise InvalidInput(reason)
            steps = zip(self.steps(release), self._places, strict=True)
            plan = self._plans[release, rank] = tuple((stage, kind, place) for (stage, kind), place in steps)
        return plan

    def apply(self, values: NDArray[np.floating[Any]], context: ReleaseContext) -> NDArray[np.float32]:
        """Run finite values (B, ...) through every stage; the result is finite too.

        Computed in float64, released in float32. Raises `InvalidInput` for a release kind, a rank or heads
        that a stage cannot take, so that nothing slips through undefended.
        """
        plan = self._plan(context.release, values.ndim - 1)
        heads = context.heads if context.release in CLASS_SCORES else ()
        if heads and sum(heads) != values.shape[1]:
            raise InvalidInput(f"{values.shape[1]} class scores are not those of {sum(heads)} classes")
        current: Values = values.astype(np.float64)
        for stage, kind, place in plan:
            stage_context = ReleaseContext(
                kind, context.draw, context.sticky_key, context.digests, place, context.heads
            )
            if not stage.by_head or len(heads) < 2:
                current = stage.apply(current, stage_context)
                continue
            parts = [stage.apply(part, stage_context) for part in parted(current, heads)]
            heads = tuple(part.shape[1] for part in parts)  # a stage may keep fewer
            current = np.concatenate(parts, axis=1)
        bounded = np.maximum(current, LEAST)
        released = np.minimum(bounded, MOST, out=bounded).astype(np.float32)
        released += ZERO  # makes 0 of -0, whose sign would tell that of a value that was rounded to nothing
        return released


_Step = tuple[OutputDefence[Any], Release, bytes]
"""A stage, the kind of its input, and its place in the policy."""
MOST = float(np.finfo(np.float32).max)
LEAST = -MOST
ZERO = np.float32(0)


def upper_bits(policy: Chain, release: Release, outputs: int, heads: Sequence[int] = ()) -> float:
    """Upper bound of one answer of ``outputs`` numbers about one sample, in bits (VICIOUS, Appendix I.1).

    Each stage bounds what is carried (`OutputDefence.room`), and later stages add nothing, so the least bound
    holds. Values count as float32, of 32 bits each, as which they arrive and leave. Noise counts as noise:
    sticky noise for whoever lacks its key, fresh noise for one answer alone, as several average it out.
    heads: the numbers of classes of a model that answers for several attributes, whose bits add up.
    """
    parts = heads if heads and release in CLASS_SCORES else (outputs,)
    return sum(_bits(policy, release, values) for values in parts)


def _bits(policy: Chain, release: Release, values: int) -> float:
    room = Room.released(release, values)
    for stage, kind in policy.steps(release):
        room = stage.room(room, kind)
    return room.within(room.of_levels(2.0**FLOAT_BITS)).bits
