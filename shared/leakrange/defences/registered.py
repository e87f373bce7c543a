"""Trained defences of all stages, by name."""

from __future__ import annotations

from typing import Any

from leakrange.defences.input import input_defences
from leakrange.defences.representation import representation_defences
from leakrange.defences.trained import Trained
from leakrange.registry import UnknownName

__all__ = ["is_trained", "trained_defence"]

REGISTRIES = (input_defences, representation_defences)


def is_trained(name: str) -> bool:
    """Whether a defence of that name is registered, and trained."""
    return any(name in registry and issubclass(registry[name], Trained) for registry in REGISTRIES)


def trained_defence(name: str) -> type[Trained[Any]]:
    """The trained defence of that name. Raises `UnknownName` where there is none."""
    for registry in REGISTRIES:
        entry = registry.get(name)
        if entry is not None and issubclass(entry, Trained):
            return entry
    known = tuple(sorted(each for registry in REGISTRIES for each in registry if is_trained(each)))
    raise UnknownName("trained defence", name, known)
