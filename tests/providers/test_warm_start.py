"""Soft outputs of two classes: what the published recipe does not reach, and what gets there."""

import pytest
from pydantic import ValidationError

from leakrange.data.samples import Samples
from leakrange.jobs.recipe import Schedule, TrainingRecipe
from leakrange.providers.behaviours.parameterized import Parameterized
from leakrange.providers.training import TrainedModel, Training, train
from leakrange.wire.errors import InvalidInput
from tests.providers.conftest import recipe

SOFT = {"target": "hat", "sensitive": "shoe", "release": "softmax", "beta": {"y": 0.5, "s": 0.5}}
QUICK = {"lr": 0.01, "dropout": 0.0}


def started(epochs: int, **more: object) -> dict[str, object]:
    return {**SOFT, "decoder": QUICK, "warm_start": {"epochs": epochs}, **more}


def trained(parameters: dict[str, object], images: Samples, epochs: int = 12) -> TrainedModel:
    return train(recipe("curious/parameterized", parameters, epochs=epochs), images)


def training(parameters: dict[str, object], images: Samples) -> tuple[Training, Parameterized]:
    made = Training(recipe("curious/parameterized", parameters, epochs=6), images)
    assert isinstance(made.trainee, Parameterized)
    return made, made.trainee


def test_the_published_recipe_is_stuck_where_a_warm_start_is_not(images: Samples) -> None:
    published, warm = trained(SOFT, images), trained(started(6), images)
    for model in (published, warm):
        assert model.figures["test"]["honesty"] > 0.95
    assert published.figures["test"]["curiosity"] < 0.7
    assert warm.figures["test"]["curiosity"] > 0.95


def test_the_defaults_are_the_published_recipe(images: Samples) -> None:
    told = {**SOFT, "decoder": {"dropout": 0.25, "steps": 1, "lr": 0.001}}
    assert trained(told, images, 2).history[-1]["loss"] == trained(SOFT, images, 2).history[-1]["loss"]


def test_the_decoder_learns_at_its_own_rate_and_as_often_as_told(images: Samples) -> None:
    settings = {"lr": 0.02, "dropout": 0.1, "steps": 3}
    made, behaviour = training({**SOFT, "decoder": settings}, images)
    moved = []
    descend = behaviour.attack_optimiser.descend
    behaviour.attack_optimiser.descend = lambda loss: moved.append(1) or descend(loss)  # type: ignore[method-assign, func-returns-value]
    made.epoch()
    assert len(moved) == 3 * (480 // 40)
    assert behaviour.attack_optimiser.lr == 0.02
    assert behaviour.optimiser.lr == 0.001
    assert {m.p for m in behaviour.attack.modules() if hasattr(m, "p")} == {0.1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"release": "logits", "warm_start": {"epochs": 2}}, "soft outputs"),
        ({"warm_start": {"epochs": 0}}, "greater than or equal to 1"),
        ({"decoder": {"dropout": 1.0}}, "less than 1"),
    ],
)
def test_what_makes_no_sense_is_refused(change: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Parameterized.Parameters.model_validate({**SOFT, **change})


def test_a_hidden_attribute_of_three_classes_is_told_too(images: Samples) -> None:
    stuck = trained({**SOFT, "sensitive": "bag"}, images, 16).figures["test"]
    warm = trained(started(6, sensitive="bag"), images, 16).figures["test"]
    assert stuck["curiosity"] < 0.4  # guessing: a third
    assert warm["curiosity"] > 0.65  # other seeds and processors: .74 to 1
    assert warm["honesty"] > 0.7


def test_a_warm_start_writes_one_attribute(images: Samples) -> None:
    with pytest.raises(InvalidInput, match="one sensitive attribute"):
        training(started(2, sensitive=["shoe", "bag"]), images)


class TestPatience:
    def impatient(self, patience: int, epochs: int = 30, **more: object) -> TrainingRecipe:
        made = recipe("curious/parameterized", {**SOFT, **more}, epochs=epochs)
        return made.model_copy(update={"schedule": made.schedule.model_copy(update={"patience": patience})})

    def test_training_ends_when_nothing_was_better_for_so_many_epochs(self, images: Samples) -> None:
        model = train(self.impatient(3), images)
        assert len(model.history) == model.chosen_epoch + 3 < 30
        scores = [0.5 * entry["honesty"] + 0.5 * entry["curiosity"] for entry in model.history]
        assert scores.index(max(scores)) + 1 == model.chosen_epoch

    def test_epochs_of_a_warm_start_do_not_try_it(self, images: Samples) -> None:
        model = train(self.impatient(1, warm_start={"epochs": 9}, decoder=QUICK), images)
        assert len(model.history) >= 10

    def test_it_goes_with_choosing_the_best_epoch_alone(self) -> None:
        with pytest.raises(ValidationError, match="select: best"):
            Schedule(patience=2, select="last")
