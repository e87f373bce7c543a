"""How many images the splits of a data set hold, as far as this machine can know."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from leakrange.data import POOL, SPLITS, datasets, load
from leakrange.data.hub import HubSet
from leakrange.wire.errors import DataUnavailable
from leakrange.wire.recipe import DataSpec

__all__ = ["Sizes", "split_sizes"]

Sizes = Callable[[DataSpec], Mapping[str, int] | None]


def split_sizes(spec: DataSpec) -> Mapping[str, int] | None:
    """Images per split, by loading the set; None where it cannot be loaded here, since another party holds
    it. Nothing is downloaded to find out.
    """
    entry = datasets[spec.name]
    if entry.available() is not None or (issubclass(entry, HubSet) and not entry.cached().is_file()):
        return None
    try:
        loaded = load(spec)
    except DataUnavailable:
        return None
    return {name: len(loaded.where(name)) for name in (*SPLITS, POOL, *loaded.parts)}
