"""Input defences: what a device does to its user's samples before anything else sees them. One file per
registered defence; listing them needs no deep learning framework.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.defences.stages import Defence, P
from leakrange.registry import Registry
from leakrange.wire.samples import SampleSpec

__all__ = ["InputDefence", "input_defences"]


class InputDefence(Defence[P]):
    """A change of samples that makes samples of the same kind. Subclasses set the class variables and
    register themselves in `input_defences`.
    """

    @abstractmethod
    def apply(self, samples: NDArray[Any], spec: SampleSpec, draw: np.random.Generator) -> NDArray[Any]:
        """Samples (B, *shape) of the dtype and shape of ``spec``, changed; all randomness is from ``draw``.
        The given ones stay as they are."""


input_defences: Registry[type[InputDefence[Any]]] = Registry("input defence", "leakrange.defences.input")
