"""Data sets of a scenario that this machine does not have."""

from __future__ import annotations

from collections.abc import Iterable

from leakrange.data import DataSet, datasets
from leakrange.data.hub import HubSet
from leakrange.scenario.draft import Draft
from leakrange.scenario.mistakes import Mistakes

__all__ = ["is_here", "missing_data", "note_missing_data"]


def is_here(entry: type[DataSet]) -> bool:
    """Whether a data set can be loaded on this machine without a download."""
    stored = not issubclass(entry, HubSet) or entry.cached().is_file()
    return entry.available() is None and stored


def missing_data(names: Iterable[str]) -> dict[str, str]:
    """Return the data sets among ``names`` that cannot be loaded on this machine, each with what to do about
    it. Nothing is loaded or downloaded to find out; names that are no data set are left out."""
    missing = {}
    for name in dict.fromkeys(names):
        entry = datasets.get(name)
        if entry is None or (reason := entry.available()) is None:
            continue
        twin = f"hub-{name.replace('_', '-')}"
        instead = f"; or write {twin}, which is downloaded, in its place" if _downloads(twin) else ""
        missing[name] = f"{reason}{instead} ('leakrange data list' shows what each data set needs)"
    return missing


def note_missing_data(draft: Draft, mistakes: Mistakes) -> None:
    """Note a mistake at each data set of a scenario that cannot be loaded on this machine."""
    missing = missing_data(spec.name for spec in draft.data.values() if spec is not None)
    for label, spec in draft.data.items():
        if spec is not None and spec.name in missing:
            path = (*draft.data_path(label), "name")
            mistakes.add(path, f"the data set {spec.name!r} is not here: {missing[spec.name]}")


def _downloads(name: str) -> bool:
    entry = datasets.get(name)
    return entry is not None and entry.available() is None
