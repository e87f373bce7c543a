"""The number of samples in the splits of a data set, as far as this machine can know."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from leakrange.data import POOL, SPLITS, datasets, load_labels
from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.missing import is_here
from leakrange.scenario.mistakes import Mistakes
from leakrange.wire.errors import DataUnavailable, InvalidInput

__all__ = ["Sizes", "known_sizes", "split_sizes"]

Sizes = Callable[[DataSpec], Mapping[str, int] | None]


def split_sizes(spec: DataSpec) -> Mapping[str, int] | None:
    """Return the number of samples per split, without drawing or decoding them; None if another party holds
    the set. Nothing is downloaded to find out. Raises `InvalidInput` as `load` does."""
    entry = datasets[spec.name]
    if not is_here(entry):
        return None
    try:
        labels = load_labels(spec)
    except DataUnavailable:
        return None
    return {name: len(labels.where(name)) for name in (*SPLITS, POOL, *labels.parts)}


def known_sizes(label: str, spec: DataSpec, sizes: Sizes) -> Mapping[str, int] | None:
    """Return the ``sizes`` of a scenario's data set of that label. Raises `InvalidScenario` if it has too few
    samples or people for the scenario."""
    try:
        return sizes(spec)
    except InvalidInput as error:
        Mistakes().refuse(("data", label), f"{error.detail}; {error.hint}" if error.hint else error.detail)
