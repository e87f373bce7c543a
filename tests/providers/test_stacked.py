"""Models that are trained as one stack are the models that are trained one after the other."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakrange.data import load
from leakrange.data.samples import Samples
from leakrange.defences.trainables import train_stack
from leakrange.jobs.recipe import DataSpec, NetSpec, OptimiserSpec, Schedule, Subset, TrainingRecipe
from leakrange.providers.artifact import load as load_model
from leakrange.providers.artifact_files import find_whole
from leakrange.providers.inference import outputs
from leakrange.providers.stacked import stackable, train_stacked
from leakrange.providers.training import train

TABLE = {"data": {"name": "synthtable"}, "target": "group", "net": "mlp"}
PICTURES = {"data": {"name": "digits", "size": 16}, "target": "digit", "net": "strided-conv"}


def recipe(number: int, of: dict[str, Any] = TABLE, pool: int = 160, **schedule: Any) -> TrainingRecipe:
    """Two epochs of five steps, on half of a pool that ``number`` draws."""
    return TrainingRecipe(
        data=DataSpec(**of["data"], subset=Subset(pool=pool, seed=number)),
        behaviour="honest",
        parameters={"target": of["target"]},
        net=NetSpec(name=of["net"]),
        schedule=Schedule(**{"epochs": 2, "batch": 16, "lr": 0.003, "select": "last", **schedule}),
        seed=7 + number,
    )


def of_each(recipes: list[TrainingRecipe]) -> list[Samples]:
    """The samples of each recipe."""
    return [load(each.data) for each in recipes]


@pytest.mark.parametrize(
    "schedule",
    [
        {},
        {"decay": "cosine", "optimiser": OptimiserSpec(name="adamw", weight_decay=0.1)},
        {"optimiser": OptimiserSpec(name="sgd", momentum=0.9), "select": "best"},
    ],
    ids=["adam", "adamw", "sgd"],
)
@pytest.mark.parametrize("of", [TABLE, PICTURES], ids=["table", "pictures"])
def test_a_stack_gives_the_models_that_are_trained_one_after_the_other(
    of: dict[str, Any], schedule: dict[str, Any]
) -> None:
    """The table's net has dropout, the pictures' convolutions; both have batch norm. Of pictures with the
    same background Adam makes steps of rounding errors, so those models part sooner."""
    loose = 1 if of is TABLE else 20
    recipes = [recipe(number, of, **schedule) for number in range(3)]
    samples = of_each(recipes)
    stacked = train_stacked(recipes, samples)
    asked = samples[0].values[samples[0].where("test")[:50]]
    answers = []
    for number, (model, each) in enumerate(zip(stacked, samples, strict=True)):
        alone = train(recipes[number], each)
        assert model.recipe == recipes[number]
        assert model.members == alone.members
        assert model.chosen_epoch == alone.chosen_epoch
        assert model.figures["test"] == pytest.approx(alone.figures["test"], abs=0.02)
        for entry, entry_alone in zip(model.history, alone.history, strict=True):
            assert entry["loss"] == pytest.approx(entry_alone["loss"], rel=1e-4 * loose)
        answers.append(outputs(model.classifier, asked, "logits"))
        np.testing.assert_allclose(answers[-1], outputs(alone.classifier, asked, "logits"), atol=2e-3 * loose)
    assert np.abs(answers[0] - answers[1]).max() > 0.1
    assert np.abs(answers[1] - answers[2]).max() > 0.1


@pytest.mark.parametrize(
    "schedule",
    [
        {"augment": "varied"},
        {"augment": True},
        {"bf16": True},
        {"select": "best", "patience": 3},
    ],
    ids=lambda schedule: next(iter(schedule)),
)
def test_what_a_stack_cannot_do_is_trained_alone(schedule: dict[str, Any], tmp_path: Path) -> None:
    """It would be another model: with pictures that are changed, or with another number of epochs."""
    recipes = [recipe(number, PICTURES, **schedule) for number in range(2)]
    assert stackable(recipe(0, PICTURES))
    assert not stackable(recipes[0])
    assert train_stack(recipes, tmp_path, partial(find_whole, tmp_path)) is None
    assert not list(tmp_path.iterdir())


def test_binary_targets_are_trained_alone() -> None:
    """Each model weighs the classes of its own samples, and of other behaviours each step is another."""
    plain = recipe(0)
    sigmoid = plain.model_copy(update={"parameters": {"target": "group", "sigmoid": True}})
    curious = plain.model_copy(
        update={"behaviour": "curious/parameterized", "parameters": {"target": "group", "sensitive": "group"}}
    )
    assert [stackable(each) for each in (plain, sigmoid, curious)] == [True, False, False]


def test_a_stack_stores_what_is_missing(tmp_path: Path) -> None:
    """Each model lies under its own recipe's name, and one that is there stays."""
    recipes = [recipe(number) for number in range(4)]
    find = partial(find_whole, tmp_path)
    folders = train_stack(recipes[:2], tmp_path, find)
    assert folders is not None
    assert [folder.name for folder in folders] == [each.digest() for each in recipes[:2]]
    before = {each.name: (each / "training.json").stat().st_mtime_ns for each in tmp_path.iterdir()}
    assert set(before) == {each.digest() for each in recipes[:2]}
    folders = train_stack(recipes, tmp_path, find)
    assert folders is not None
    assert [folder.name for folder in folders] == [each.digest() for each in recipes[2:]]
    assert {each.name for each in tmp_path.iterdir()} == {each.digest() for each in recipes}
    for name, written in before.items():
        assert (tmp_path / name / "training.json").stat().st_mtime_ns == written
    shares = []
    for each in recipes:
        folder = find(each.digest())
        assert folder is not None
        samples = load(each.data)
        members, others = (samples.where(split) for split in ("train", "held-out"))
        labels = samples.labels["group"]
        classifier = load_model(folder).classifier
        right = [
            float((outputs(classifier, samples.values[places], "logits").argmax(1) == labels[places]).mean())
            for places in (members, others)
        ]
        shares.append(right)
    assert np.mean(shares) > 0.8  # of two classes


@pytest.mark.parametrize("what", ["convolutions", "many parameters", "unequal"])
def test_a_stack_that_does_not_pay_is_left_to_single_jobs(what: str, tmp_path: Path) -> None:
    """On a CPU convolutions and large layers are as fast alone; and models with unequally many samples have
    unequally many steps."""
    recipes = [recipe(number, PICTURES if what == "convolutions" else TABLE) for number in range(2)]
    if what == "many parameters":
        recipes = [each.model_copy(update={"net": NetSpec(name="mlp", width=3.0)}) for each in recipes]
    if what == "unequal":
        recipes[1] = recipe(1, pool=200)
    assert train_stack(recipes, tmp_path, partial(find_whole, tmp_path)) is None
    assert not list(tmp_path.iterdir())


def test_models_of_unequally_many_samples_are_refused() -> None:
    """A stack would leave some of one model's samples out."""
    recipes = [recipe(0), recipe(1, pool=200)]
    with pytest.raises(ValueError, match="equally many"):
        train_stacked(recipes, of_each(recipes))


def test_a_model_has_its_share_of_the_time() -> None:
    """The plan of a later run adds the seconds of its models up."""
    recipes = [recipe(number) for number in range(4)]
    seen: list[float] = []
    models = train_stacked(recipes, of_each(recipes), progress=lambda entry: seen.append(entry["progress"]))
    assert seen[-1] == 1.0
    assert len({round(model.seconds, 1) for model in models}) == 1
    epochs = [sum(entry["seconds"] for entry in model.history) for model in models]
    assert 0 < sum(epochs) <= 4 * max(model.seconds for model in models)
