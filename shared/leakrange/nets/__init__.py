"""Architectures by name. An entry builds a `leakrange.nets.classifier.Classifier`; listing them needs no
deep learning framework."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from leakrange.registry import Registry
from leakrange.wire.samples import SampleSpec, encodings

if TYPE_CHECKING:
    from torch import nn

    from leakrange.nets.classifier import Classifier

__all__ = ["Architecture", "nets", "scaled"]


def scaled(count: int, width: float) -> int:
    """The number of channels or values that a net of that width has in place of ``count``: one at least."""
    return max(1, round(count * width))


class Architecture(ABC):
    """A registered family of classifiers. A net's size follows from the form of a sample, the number of
    classes and the width."""

    name: ClassVar[str]
    version: ClassVar[int] = 1
    """Raised when the architecture builds another net than before: see `leakrange.jobs.versions`."""
    summary: ClassVar[str]
    paper: ClassVar[str]
    table: ClassVar[str]
    encodings: ClassVar[tuple[str, ...] | None]
    """What kinds of samples it takes; None: all, one number beside the other."""
    samples_apart: ClassVar[bool] = False
    """Whether it takes each sample by itself while it learns, as no net with batch norm does."""
    smallest: ClassVar[int] = 1
    """The shortest side of a sample that it takes: pixels of a picture, steps of a series."""

    @classmethod
    def misfit(cls, spec: SampleSpec) -> str | None:
        """Why it cannot take samples of ``spec``; None where it can, as far as encoding and size tell."""
        if cls.encodings is not None and spec.encoding not in cls.encodings:
            return f"net {cls.name!r} takes {' or '.join(cls.encodings)}, not {spec.encoding}"
        if (least := min(spec.sides, default=cls.smallest)) < cls.smallest:
            side = encodings[spec.encoding].side
            return f"net {cls.name!r} takes {cls.smallest} {side} or more, not {least}"
        return None

    @classmethod
    def build(cls, spec: SampleSpec, classes: int, width: float = 1.0) -> Classifier:
        """A freshly initialised net for samples of ``spec``; draws from torch's generator. Raises
        `ValueError` for samples that do not fit, see `misfit`."""
        from leakrange.nets.classifier import Classifier

        if reason := cls.misfit(spec):
            raise ValueError(reason)
        body, head, features = cls.layers(spec, classes, width)
        return Classifier(body, head, spec=spec, features=features, classes=classes)

    @classmethod
    @abstractmethod
    def layers(cls, spec: SampleSpec, classes: int, width: float) -> tuple[nn.Module, nn.Module, int]:
        """Body and head of a `leakrange.nets.classifier.Classifier`, and the number of its features; channels
        and hidden layers are `scaled` by ``width``."""


nets: Registry[type[Architecture]] = Registry("net", "leakrange.nets.architectures")
