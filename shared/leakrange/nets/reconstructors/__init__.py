"""Reconstructors by name: nets G that make a picture from a release. Listing them needs no deep learning
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
    """A registered family of reconstructors. A net's size follows from the length of a release, the picture
    and the width."""

    name: ClassVar[str]
    summary: ClassVar[str]
    paper: ClassVar[str]
    table: ClassVar[str]
    encodings: ClassVar[tuple[str, ...]] = ("picture",)
    """What kinds of samples it makes."""
    multiple: ClassVar[int] = 8
    """The sides of the picture must be multiples of this."""

    @classmethod
    def misfit(cls, spec: SampleSpec) -> str | None:
        """Why it cannot make samples of ``spec``; None where it can."""
        if spec.encoding not in cls.encodings:
            return f"net {cls.name!r} makes {' or '.join(cls.encodings)}, not {spec.encoding}"
        if any(side % cls.multiple or side < 16 for side in spec.sides):
            return f"net {cls.name!r} makes pictures with sides of 16, 24, 32, ... pixels, not {spec.sides}"
        return None

    @classmethod
    def build(cls, spec: SampleSpec, inputs: int, width: float = 1.0) -> Reconstructor:
        """A freshly initialised net for releases of length ``inputs``; draws from torch's generator. Raises
        `ValueError` for samples that it cannot make, see `misfit`."""
        from leakrange.nets.reconstructor import Reconstructor

        if reason := cls.misfit(spec):
            raise ValueError(reason)
        return Reconstructor(cls.layers(spec, inputs, width), spec=spec, inputs=inputs)

    @classmethod
    @abstractmethod
    def layers(cls, spec: SampleSpec, inputs: int, width: float) -> nn.Module:
        """The layers that map (B, inputs) to logits of the pixels, (B, C, H, W)."""


reconstructors: Registry[type[ReconstructorArchitecture]] = Registry(
    "reconstructor", "leakrange.nets.reconstructors"
)
