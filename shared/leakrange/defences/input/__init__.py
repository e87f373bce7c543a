"""Input defences: changes that a device makes to its user's samples before anything else sees them. A new
defence is one file; listing them needs no deep learning framework."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from leakrange.data.samples import Attribute
from leakrange.defences.stages import Defence, P, mistake
from leakrange.registry import Registry
from leakrange.wire.samples import SampleSpec

__all__ = ["InputDefence", "input_defences"]


class InputDefence(Defence[P]):
    """A change of samples that makes samples of the same kind. Subclasses set the class variables and
    register themselves in `input_defences`."""

    encodings: ClassVar[tuple[str, ...] | None] = None
    """The kinds of samples that it takes; None: all."""
    noisy: ClassVar[bool] = False
    """Whether it draws something for each sample, so that the same one comes out differently each time."""

    substitutes: ClassVar[bool] = False
    """Whether it replaces samples by records of others. The record of its training then lists as
    "substitutes" the labelled training samples that these come from."""

    @property
    @override
    def deterministic(self) -> bool:
        """Whether it draws nothing."""
        return not self.noisy

    @classmethod
    def misfit(cls, spec: SampleSpec) -> str | None:
        """The reason that it does not take samples of ``spec``; None where it does, as far as their kind
        tells."""
        if cls.encodings is None or spec.encoding in cls.encodings:
            return None
        return f"it takes {' or '.join(cls.encodings)}, not {spec.encoding}"

    @abstractmethod
    def apply(self, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator) -> NDArray[Any]:
        """Change samples (B, *shape) of the dtype and shape of ``spec``, in a copy. All randomness is from
        ``draw``."""

    @override
    def mistakes(self, spec: SampleSpec, attributes: Mapping[str, Attribute]) -> list[dict[str, Any]]:
        """See `Defence.mistakes`: the samples are of a kind that it does not take."""
        reason = self.misfit(spec)
        mistakes = super().mistakes(spec, attributes)
        return mistakes if reason is None else [*mistakes, mistake([], reason)]


input_defences: Registry[type[InputDefence[Any]]] = Registry("input defence", "leakrange.defences.input")
