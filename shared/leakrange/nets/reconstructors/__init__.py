"""Reconstructors by name: nets G that make a picture of a release. Listing them needs no deep learning
framework."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from leakrange.registry import Registry
from leakrange.wire.samples import SampleSpec

if TYPE_CHECKING:
    from torch import nn

    from leakrange.nets.reconstructor import Reconstructor

__all__ = ["ReconstructorArchitecture", "reconstructors"]


class ReconstructorArchitecture(ABC):
    """A registered family of reconstructors, scaled by the length of a release, the picture and a width."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    table: ClassVar[str]
    multiple: ClassVar[int] = 8
    """The sides of the picture are multiples of this."""

    @classmethod
    def misfit(cls, spec: SampleSpec) -> str | None:
        """Why it cannot make samples of ``spec``; None where it can."""
        if spec.encoding != "picture":
            return f"net {cls.name!r} makes pictures, no {spec.encoding}"
        if any(side % cls.multiple or side < 16 for side in spec.shape[:2]):
            return (
                f"net {cls.name!r} makes pictures with sides of 16, 24, 32, ... pixels, not {spec.shape[:2]}"
            )
        return None

    @classmethod
    def build(cls, spec: SampleSpec, inputs: int, width: float = 1.0) -> Reconstructor:
        """A freshly initialised net for releases of length ``inputs``; draws from torch's generator. Raises
        `ValueError` for samples that it does not make, see `misfit`."""
        from leakrange.nets.reconstructor import Reconstructor

        if reason := cls.misfit(spec):
            raise ValueError(reason)
        return Reconstructor(cls.layers(spec, inputs, width), spec=spec, inputs=inputs)

    @classmethod
    @abstractmethod
    def layers(cls, spec: SampleSpec, inputs: int, width: float) -> nn.Module:
        """From (B, inputs) to logits of the pixels, (B, C, H, W)."""


reconstructors: Registry[type[ReconstructorArchitecture]] = Registry(
    "reconstructor", "leakrange.nets.reconstructors"
)
