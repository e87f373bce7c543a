"""The choice of a net, whose name may be left to the encoding of the samples."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from leakrange.jobs.recipe import NetSpec
from leakrange.registry import registry_at
from leakrange.wire.samples import Purpose, SampleSpec, encodings

__all__ = ["NetChoice"]


class NetChoice(BaseModel):
    """A registered architecture, by default one that the encoding of the samples names; ``width`` scales its
    layers (1.0: as in the paper)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str | None = None
    width: Annotated[float, Field(gt=0.0, le=8.0)] = 1.0

    def of(self, spec: SampleSpec, purpose: Purpose = "model") -> NetSpec:
        """Return the net for samples of ``spec``: of those that their encoding names the first that takes
        them. If none does, return the first, whose `misfit` says why."""
        name = self.name
        if name is None:
            nets, named = registry_at("leakrange.nets", "nets"), encodings[spec.encoding].nets_for(purpose)
            fit = (each for each in named if each in nets and nets[each].misfit(spec) is None)
            name = next(fit, named[0])
        return NetSpec(name=name, width=self.width)
