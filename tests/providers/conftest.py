import pytest

from leakrange.data.samples import Samples
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.providers.behaviours import behaviours
from leakrange.providers.training import TrainedModel, train
from tests.providers.pictures import patches


def recipe(behaviour: str, parameters: dict[str, object], epochs: int = 1, seed: int = 0) -> TrainingRecipe:
    return TrainingRecipe(
        data=DataSpec(name="patches"),
        behaviour=behaviour,
        parameters=parameters,
        net=NetSpec(name="conv-2d-groups" if behaviours[behaviour].samples_apart else "hbc", width=0.5),
        schedule=Schedule(epochs=epochs, batch=40),
        seed=seed,
    )


@pytest.fixture(scope="session")
def images() -> Samples:
    return patches()


CASES = {
    "honest": ("honest", {"target": "hat"}),
    "ensemble": ("honest/ensemble", {"target": "hat", "voters": 3}),
    "private": ("honest/private", {"target": "hat", "noise": 0.5, "delta": 1e-4}),
    "margin": ("honest/margin", {"target": "hat", "scale": 16.0, "margin": 0.2}),
    "regularized": (
        "curious/regularized",
        {"target": "hat", "sensitive": "shoe", "beta": {"y": 0.5, "s": 0.5}},
    ),
    "raw": ("curious/parameterized", {"target": "hat", "sensitive": "shoe"}),
    "soft": (
        "curious/parameterized",
        {"target": "mood", "sensitive": "shoe", "release": "softmax", "beta": {"y": 0.1, "s": 0.9}},
    ),
    "logarithm": (
        "curious/parameterized",
        {
            "target": "mood",
            "sensitive": "shoe",
            "release": "softmax",
            "logarithm": True,
            "beta": {"y": 0.5, "s": 0.5},
        },
    ),
    "mixture": (
        "curious/mixture",
        {"target": "hat", "sensitive": "shoe", "mixture": "normal", "beta": {"y": 0.7, "s": 0.3}},
    ),
    "vicious": ("vicious", {"target": "hat", "beta": {"c": 1, "r": 2}}),
    "sigmoid": ("vicious", {"target": ["hat", "shoe"], "sigmoid": True, "release": "softmax"}),
    "convex": ("curious/convex", {"target": "hat", "sensitive": "mood", "beta": {"y": 0.5, "s": 0.5}}),
}


class Trained(dict[str, TrainedModel]):
    """One model of every behaviour, each trained for a second or two when it is first asked for: of the
    processes that share the tests out, none trains what it does not need."""

    def __init__(self, images: Samples) -> None:
        self._images = images

    def __missing__(self, name: str) -> TrainedModel:
        self[name] = train(recipe(*CASES[name], epochs=12), self._images)
        return self[name]


@pytest.fixture(scope="session")
def trained(images: Samples) -> dict[str, TrainedModel]:
    return Trained(images)
