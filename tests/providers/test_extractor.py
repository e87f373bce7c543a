"""Models that stand on an extractor: only the head learns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from leakrange.data import load
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.nets import nets
from leakrange.nets.lipschitz import lipschitz_bound
from leakrange.providers.inference import outputs
from leakrange.providers.loop import seeded
from leakrange.providers.training import train

DATA = DataSpec(name="synthtable", count=1500)
RECIPE = TrainingRecipe(
    data=DATA,
    behaviour="honest",
    parameters={"target": "passes"},
    net=NetSpec(name="tappfl-mlp"),
    schedule=Schedule(epochs=5, batch=50, lr=0.005),
    extractor="e" * 64,
)


def extractor() -> torch.nn.Module:
    with seeded(5):
        return nets["tappfl-mlp"].build(load(DATA).spec, 2).body


def test_the_head_learns_on_features_that_stay_as_they_are() -> None:
    body = extractor()
    trained = train(RECIPE, load(DATA), extractor=body)
    for name, value in trained.classifier.body.state_dict().items():
        assert torch.equal(value, body.state_dict()[name])
    assert trained.figures["test"]["honesty"] > 0.85
    assert trained.figures["test"]["head_lipschitz"] == pytest.approx(
        lipschitz_bound(trained.classifier.head)
    )
    samples = load(DATA).values[:3].copy()
    with torch.inference_mode():
        wanted = body.eval()(torch.from_numpy(samples)).numpy()
    np.testing.assert_allclose(outputs(trained.classifier, samples, "features"), wanted, rtol=1e-5)


def test_an_extractor_belongs_to_a_recipe_that_names_one() -> None:
    with pytest.raises(ValueError, match="names one"):
        train(RECIPE, load(DATA))
    with pytest.raises(ValueError, match="names one"):
        train(RECIPE.model_copy(update={"extractor": None}), load(DATA), extractor=extractor())


def test_a_model_on_another_extractor_is_another_model() -> None:
    other = RECIPE.model_copy(update={"extractor": "f" * 64})
    assert len({each.digest() for each in (RECIPE, other)}) == 2
    assert "extractor" not in RECIPE.model_copy(update={"extractor": None}).identity()
