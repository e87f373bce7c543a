"""Two independent attributes of drawn points, and a small federation that learns from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from leakrange.data import Samples, load
from leakrange.defences.artifact import TrainedDefence
from leakrange.defences.extractor_training import train_extractor
from leakrange.defences.representation import representation_defences
from leakrange.defences.representation.federated import FederatedRepresentation
from leakrange.jobs.recipe import DataSpec, TrainingRecipe
from leakrange.nets.classifier import to_input

DATA = DataSpec(name="quadrants", count=1500)
FEDERATION = {"devices": 4, "share": 0.5, "rounds": 6, "pretraining": 1, "local_epochs": 3}
REQUIRED = {"amount": 0.01, "noise": 0.01}
"""Values of parameters that have no default."""


@pytest.fixture(scope="session")
def points() -> Samples:
    return load(DATA)


def link_of(name: str, **given: Any) -> FederatedRepresentation[Any]:
    """The defence of that name which hides s, and keeps y where it has to know what to keep."""
    entry = representation_defences[name]
    needed = {each for each, field in entry.Parameters.model_fields.items() if field.is_required()}
    parameters: dict[str, Any] = {"private": "s", "width": 0.25, "federation": FEDERATION}
    parameters |= {each: value for each, value in REQUIRED.items() if each in needed}
    if "useful" in needed:
        parameters["useful"] = "y"
    made = entry(entry.Parameters.model_validate(parameters | given))
    assert isinstance(made, FederatedRepresentation)
    return made


def recipe_of(name: str, **given: Any) -> TrainingRecipe:
    return link_of(name, **given).recipe(DATA, 0)


Told = tuple[TrainedDefence, dict[str, float]]


@pytest.fixture(scope="session")
def learnt(points: Samples) -> Callable[..., Told]:
    """Train a defence; gives it with the accuracy of fresh linear classifiers on its test samples."""
    from sklearn.linear_model import LogisticRegression

    def train(name: str, **given: Any) -> Told:
        trained = train_extractor(recipe_of(name, **given), points)
        shown = {}
        for split in ("train", "test"):
            values = torch.from_numpy(points.values[points.where(split)])
            with torch.inference_mode():
                shown[split] = trained.module(to_input(values, points.spec)).numpy()
        told = {}
        for attribute in ("y", "s"):
            truth = {split: points.labels[attribute][points.where(split)] for split in shown}
            fresh = LogisticRegression(max_iter=1000).fit(shown["train"], truth["train"])
            told[attribute] = float(fresh.score(shown["test"], truth["test"]))
        return trained, told

    return train
