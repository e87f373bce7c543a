"""Model compression (Zhu, Liu and Han 2019): devices share only their largest parameters."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field
from typing_extensions import override

from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.task_agnostic import AgnosticParameters, Informative
from leakrange.federation.updates import Arrays

__all__ = ["Compressed", "CompressedParameters", "pruned"]


class CompressedParameters(AgnosticParameters):
    """``amount``: the pruning rate, the share of the extractor's parameters that a device does not share."""

    amount: Annotated[float, Field(gt=0.0, lt=1.0)]


@representation_defences.register("compressed")
class Compressed(Informative[CompressedParameters]):
    """A device prunes the parameters of its trained extractor that are smallest in magnitude, of all layers
    together, and shares the others.

    The server takes parameters that are not shared as zero: TAPPFL says that devices prune them. So the mean
    of a parameter that some devices pruned is pulled towards zero, and it can come back in a later round.
    """

    name = "compressed"
    Parameters = CompressedParameters
    summary = "devices share the largest parameters of the extractor alone"
    equation = "Comparison with task-agnostic defenses: MC"
    shorthand = None

    @override
    def sent(self, sent: Arrays, trained: Arrays, draw: np.random.Generator) -> Arrays:
        """See `FederatedRepresentation.sent` and `pruned`."""
        return pruned(trained, self.parameters.amount)


def pruned(arrays: Arrays, amount: float) -> Arrays:
    """The arrays with ``round(amount · N)`` of their N floating-point numbers set to zero: the smallest in
    magnitude, of equals the first. Integers stay as they are."""
    floating = [name for name, array in arrays.items() if np.issubdtype(array.dtype, np.floating)]
    magnitudes = np.concatenate([np.abs(arrays[name]).ravel() for name in floating])
    kept = np.ones(len(magnitudes), dtype=bool)
    kept[np.argsort(magnitudes, kind="stable")[: round(amount * len(magnitudes))]] = False
    ends = np.cumsum([arrays[name].size for name in floating])
    masks = dict(zip(floating, np.split(kept, ends[:-1]), strict=True))
    return {
        name: np.where(masks[name].reshape(array.shape), array, 0).astype(array.dtype)
        if name in masks
        else array
        for name, array in arrays.items()
    }
