"""Input defences: what a device does to its user's samples before anything else sees them. One file per
registered defence; listing them needs no deep learning framework.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from leakrange.data.samples import Attribute
from leakrange.defences.stages import Defence, P, mistake
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.registry import Registry
from leakrange.wire.samples import Encoding, SampleSpec

__all__ = ["InputDefence", "input_defences"]


class InputDefence(Defence[P]):
    """A change of samples that makes samples of the same kind. Subclasses set the class variables and
    register themselves in `input_defences`.
    """

    encodings: ClassVar[tuple[Encoding, ...] | None] = None
    """The kinds of samples that it takes; None: all."""
    noisy: ClassVar[bool] = False
    """Whether it draws something for each sample, so that the same one comes out differently each time."""

    substitutes: ClassVar[bool] = False
    """Whether it puts records of others in place of samples. The record of its training then lists as
    "substitutes" which labelled training samples these are made of."""

    @property
    @override
    def deterministic(self) -> bool:
        """Whether it draws nothing."""
        return not self.noisy

    @classmethod
    def misfit(cls, spec: SampleSpec) -> str | None:
        """Why it does not take samples of ``spec``; None where it does, as far as their kind tells."""
        if cls.encodings is None or spec.encoding in cls.encodings:
            return None
        return f"it takes {' or '.join(cls.encodings)}, not {spec.encoding}"

    @abstractmethod
    def apply(self, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator) -> NDArray[Any]:
        """Samples (B, *shape) of the dtype and shape of ``spec``, changed; all randomness is from ``draw``.
        The given ones stay as they are."""

    @property
    def artifact(self) -> str | None:
        """The digest of what is trained for it, once that is planned; None where nothing is."""
        return None

    def mistakes(
        self,
        spec: SampleSpec,
        attributes: Mapping[str, Attribute],  # noqa: ARG002
    ) -> list[dict[str, Any]]:
        """Why it cannot be applied to samples of ``spec`` with these attributes, as
        `leakrange.defences.stages.mistake` tells it; the paths begin among its parameters."""
        reason = self.misfit(spec)
        return [] if reason is None else [mistake([], reason)]

    def recipe(self, data: DataSpec, seed: int) -> TrainingRecipe | None:  # noqa: ARG002
        """How what it needs is trained; None for a defence that needs no training."""
        return None

    def planned(self, data: DataSpec, seed: int) -> Self:  # noqa: ARG002
        """The link that names what is trained for it, so that a chain's identity tells it."""
        return self

    def bound(self, load: Callable[[str], bytes], key: bytes) -> Self:  # noqa: ARG002
        """The link with what was trained for it, which ``load`` reads by the digest of its recipe. ``key`` is
        a secret of whoever applies it."""
        return self


input_defences: Registry[type[InputDefence[Any]]] = Registry("input defence", "leakrange.defences.input")
