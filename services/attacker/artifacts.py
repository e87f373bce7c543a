"""Models that are trained already, with all of their files intact."""

from __future__ import annotations

from pathlib import Path

from leakrange.store.folders import whole_folder
from leakrange.store.places import store_at


def find_whole(place: Path | str, digest: str) -> Path | None:
    """The artifact folder of a recipe digest, or None. A damaged one is set aside."""
    return whole_folder(store_at(place), digest, set_aside=True)
