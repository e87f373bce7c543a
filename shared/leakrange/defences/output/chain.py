"""Chains of output defences: what a policy is."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.defences.output.base import (
    ANY_RELEASE,
    OutputDefence,
    Release,
    ReleaseContext,
    output_defences,
)
from leakrange.defences.stages import InvalidChain, kind_of, mistake, read_stage
from leakrange.registry import UnknownName
from leakrange.wire.digests import digest
from leakrange.wire.errors import InvalidInput

__all__ = ["Chain", "InvalidChain"]

MAX_STAGES = 16


@dataclass(frozen=True)
class Chain:
    """Defences in the order in which they run. ``Chain(())`` releases everything as it is."""

    stages: tuple[tuple[str, OutputDefence[Any]], ...] = ()

    @classmethod
    def parse(cls, spec: Any) -> Chain:
        """Read a list of names, each bare, with parameters, or with one value.

        E.g. ``[{round: {decimals: 1}}, {temperature: 2}, argmax]``. Raises `InvalidChain` with every mistake.
        """
        if not isinstance(spec, list):
            raise InvalidChain([mistake([], f"a chain is a list of defences, not {kind_of(spec)}")])
        mistakes: list[dict[str, Any]] = []
        if len(spec) > MAX_STAGES:
            mistakes.append(mistake([], f"at most {MAX_STAGES} defences in a chain, not {len(spec)}"))
        stages = [stage for index, item in enumerate(spec) if (stage := _stage(item, index, mistakes))]
        if mistakes:
            raise InvalidChain(mistakes)
        return cls(tuple(stages))

    def spec(self) -> list[dict[str, Any]]:
        """The canonical form, which `parse` reads: every parameter that is set, defaults included."""
        return [
            {name: stage.parameters.model_dump(mode="json", exclude_none=True)} for name, stage in self.stages
        ]

    def digest(self) -> str:
        """The policy's identity (SHA-256, hex): the same for all spellings of the same chain."""
        return digest(self.spec())

    @property
    def deterministic(self) -> bool:
        """Whether asking again gives the same answer."""
        return all(stage.deterministic for _, stage in self.stages)

    @property
    def needs_digests(self) -> bool:
        """Whether a stage has sticky noise, which needs each sample's digest and a secret."""
        return any(stage.needs_digests for _, stage in self.stages)

    @property
    def consumes(self) -> frozenset[Release]:
        """Release kinds on which every stage means something."""
        return ANY_RELEASE.intersection(*(stage.consumes for _, stage in self.stages))

    def refuse(self, release: Release, rank: int = 1) -> str | None:
        """Why the chain cannot take that release kind, with ``rank`` axes for each sample, or None when it
        can."""
        for name, stage in self.stages:
            if release not in stage.consumes:
                kinds = ", ".join(sorted(stage.consumes))
                return f"{name} means nothing on a {release} release; it takes {kinds}"
            if stage.vectors and rank != 1:
                others = ", ".join(each for each, one in output_defences.items() if not one.vectors)
                return (
                    f"{name} takes vectors, (samples, N), and these releases have {rank} axes a sample: "
                    f"leave it out of the chain; releases of any rank are for {others}"
                )
        return None

    @cached_property
    def _places(self) -> tuple[bytes, ...]:
        policy = self.digest()
        return tuple(f"{policy}:{index}".encode() for index in range(len(self.stages)))

    def apply(self, values: NDArray[np.floating[Any]], context: ReleaseContext) -> NDArray[np.float32]:
        """Run finite values (B, ...) through every stage; the result is finite too.

        Computed in float64, released in float32. Raises `InvalidInput` for a release kind or a rank that a
        stage cannot take, so that nothing slips through undefended.
        """
        if reason := self.refuse(context.release, values.ndim - 1):
            raise InvalidInput(reason)
        current = np.asarray(values, dtype=np.float64)
        for (_, stage), place in zip(self.stages, self._places, strict=True):
            current = stage.apply(current, dataclasses.replace(context, stage=place))
        limits = np.finfo(np.float32)
        # Adding 0 makes 0 of -0, whose sign would tell that of a value that was rounded to nothing.
        return np.clip(current, limits.min, limits.max).astype(np.float32) + np.float32(0)


def _stage(item: Any, index: int, mistakes: list[dict[str, Any]]) -> tuple[str, OutputDefence[Any]] | None:
    try:
        return read_stage(item, index, output_defences, mistakes)
    except UnknownName as unknown:
        mistakes.append(mistake([index], str(unknown), unknown.allowed))
        return None
