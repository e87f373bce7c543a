"""Trained defences of all stages, by name."""

from __future__ import annotations

from typing import Any

from leakrange.defences.input import input_defences
from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.federated import FederatedRepresentation
from leakrange.defences.trained import Trained
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.registry import UnknownName
from leakrange.wire.errors import InvalidInput

__all__ = ["federated_defence", "is_federated", "is_trained", "trained_defence"]

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


def is_federated(recipe: TrainingRecipe) -> bool:
    """Whether a federation trains the artifact of ``recipe``. Raises `UnknownName` for an unknown defence."""
    return recipe.defence is not None and issubclass(trained_defence(recipe.defence), FederatedRepresentation)


def federated_defence(recipe: TrainingRecipe) -> FederatedRepresentation[Any]:
    """The defence, with its parameters, whose extractor ``recipe`` trains. Raises `InvalidInput` where no
    federation trains it, `UnknownName` for an unknown defence, `pydantic.ValidationError` for parameters that
    it does not take."""
    entry = trained_defence(recipe.defence or recipe.behaviour)
    if not issubclass(entry, FederatedRepresentation):
        raise InvalidInput(f"{recipe.behaviour!r} is not trained by a federation")
    defence: FederatedRepresentation[Any] = entry.of(recipe)
    return defence
