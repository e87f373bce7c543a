"""A small model of digits for audits: trained for two epochs, then made very sure of its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.providers.artifact import CLASSIFIER, save
from leakrange.providers.training import TrainedModel, train

DIGITS = DataSpec(name="digits", size=16, limit=300)
HIDES = {"target": "digit", "sensitive": "parity", "beta": {"y": 0.5, "s": 0.5}}
STILL = ("rounds=1", "lr=1e-9")
"""Settings by which no model moves."""
MOVING = ("rounds=2", "lr=1e-3")
"""Settings by which this one does."""


def save_digits(root: Path, behaviour: str = "honest", parameters: dict[str, Any] | None = None) -> str:
    """Save it as an artifact; gives its digest."""
    return save(root, _trained(behaviour, tuple((parameters or {"target": "digit"}).items()))).name


def model_file(root: Path) -> Path:
    """Its public file."""
    return root / save_digits(root) / CLASSIFIER


def _trained(behaviour: str, parameters: tuple[tuple[str, Any], ...]) -> TrainedModel:
    recipe = TrainingRecipe(
        data=DIGITS,
        behaviour=behaviour,
        parameters=dict(parameters),
        net=NetSpec(name="conv-2d", width=0.5),
        schedule=Schedule(epochs=2, batch=20),
    )
    trained = train(recipe, load(DIGITS))
    for parameter in trained.classifier.head.parameters():
        parameter.data.mul_(20)
    return trained
