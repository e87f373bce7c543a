import dataclasses

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from leakrange.data.samples import Samples, names
from leakrange.jobs.recipe import OptimiserSpec, Schedule
from leakrange.nets import nets
from leakrange.nets.classifier import to_input
from leakrange.providers.behaviours import behaviours
from leakrange.providers.inference import outputs
from leakrange.providers.loop import Lessons, seeded
from leakrange.providers.training import TrainedModel, Training, train
from leakrange.registry import UnknownName
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.providers.conftest import CASES, recipe
from tests.providers.pictures import patches

VARIANTS = {
    **CASES,
    "raw, one pass": (CASES["raw"][0], CASES["raw"][1] | {"passes": "one"}),
    "soft, one pass": (CASES["soft"][0], CASES["soft"][1] | {"passes": "one"}),
    "hard mixture": (CASES["mixture"][0], CASES["mixture"][1] | {"mixture": "hard"}),
    "compressed": (CASES["raw"][0], CASES["raw"][1] | {"beta": {"x": 0.4, "y": 0.5, "s": 0.5}}),
}


def test_there_is_a_case_for_every_behaviour() -> None:
    assert {behaviour for behaviour, _ in CASES.values()} == {
        name for name, each in behaviours.items() if each.trains
    }


OPTIMISERS = {"adam": OptimiserSpec(), "sgd": OptimiserSpec(name="sgd", momentum=0.9, weight_decay=1e-4)}


@pytest.mark.parametrize(("optimiser", "bf16"), [("adam", False), ("adam", True), ("sgd", False)], ids=str)
@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "ensemble"])  # a step moves one voter
def test_one_step_moves_every_trainable_parameter(
    name: str, optimiser: str, bf16: bool, images: Samples
) -> None:
    behaviour, chosen = VARIANTS[name]
    parameters = behaviours[behaviour].Parameters.model_validate(chosen)
    torch.manual_seed(0)
    targets = names(parameters.target)
    classes = sum(len(images.attributes[name].classes) for name in targets)
    apart = behaviours[behaviour].samples_apart  # by another net, and in float32 alone
    entry = nets["conv-2d-groups" if apart else "hbc"]
    net = behaviours[behaviour].build(
        parameters, lambda outputs: entry.build(SampleSpec.picture(16, 16, 3), outputs, 0.5), classes, 2
    )
    schedule = Schedule(batch=40, lr=0.01, bf16=bf16 and not apart, optimiser=OPTIMISERS[optimiser])
    trainee = behaviours[behaviour](parameters, net, 2, schedule)
    before = {
        f"{part}.{key}": value.detach().clone()
        for part, module in trainee.modules().items()
        for key, value in module.named_parameters()
    }
    assert len(before) == len({id(p) for m in trainee.modules().values() for p in m.parameters()})
    x = to_input(torch.from_numpy(images.values[:40].copy()), images.spec)
    labels = [torch.from_numpy(images.labels[name][:40].copy()) for name in targets]
    y = labels[0] if len(labels) == 1 else torch.stack(labels, dim=1)
    s = torch.from_numpy(images.labels["shoe"][:40].copy())
    trainee.study(Lessons(torch.from_numpy(images.values[:40].copy()), y))
    loss = trainee.step(x, y, s if behaviour != "honest" else None)
    assert torch.isfinite(loss)
    still = [
        f"{part}.{key}"
        for part, module in trainee.modules().items()
        for key, value in module.named_parameters()
        if torch.equal(value.detach(), before[f"{part}.{key}"])
    ]
    assert still == []


def test_an_honest_model_learns_its_target(trained: dict[str, TrainedModel]) -> None:
    model = trained["honest"]
    assert model.figures["test"]["honesty"] > 0.95
    assert model.decoder is None
    assert "curiosity" not in model.figures["test"]


@pytest.mark.parametrize("name", ["regularized", "raw", "mixture"])
def test_a_curious_model_learns_both(name: str, trained: dict[str, TrainedModel]) -> None:
    figures = trained[name].figures["test"]
    assert figures["honesty"] > 0.9
    assert figures["curiosity"] > 0.9
    assert figures["majority"] < 0.6


def test_a_curious_model_hides_it_in_soft_outputs_where_that_weighs_more(
    trained: dict[str, TrainedModel],
) -> None:
    figures = trained["soft"].figures["test"]
    assert figures["curiosity"] > 0.9
    assert figures["majority"] < 0.6


def test_what_hides_in_soft_outputs_is_read_from_their_logarithms(trained: dict[str, TrainedModel]) -> None:
    figures = trained["logarithm"].figures["test"]
    assert figures["curiosity"] > 0.9  # from the probabilities themselves nothing is learnt at these weights
    assert figures["majority"] < 0.6


@pytest.mark.parametrize("name", ["regularized", "raw", "soft", "logarithm", "mixture", "convex"])
def test_the_figures_are_those_of_the_kept_classifier_and_decoder(
    name: str, trained: dict[str, TrainedModel], images: Samples
) -> None:
    model = trained[name]
    assert model.decoder is not None
    hidden = model.recipe.parameters["sensitive"]
    for split in ("validation", "test"):
        chosen = images.where(split)
        released = outputs(model.classifier, images.values[chosen], model.default_release)
        predicted, _ = model.decoder.infer(released, model.default_release)
        assert np.mean(predicted == images.labels[hidden][chosen]) == model.figures[split]["curiosity"]
    # and the validation figures are those of the epoch that was chosen, so F and its decoder are of one epoch
    entry = model.history[model.chosen_epoch - 1]
    assert model.figures["validation"]["honesty"] == pytest.approx(entry["honesty"])
    assert model.figures["validation"]["curiosity"] == pytest.approx(entry["curiosity"])


@pytest.mark.parametrize("name", ["honest", "regularized", "raw", "soft", "convex"])
def test_the_first_epoch_with_the_best_weighted_validation_is_kept(
    name: str, trained: dict[str, TrainedModel]
) -> None:
    model = trained[name]
    beta = model.recipe.parameters.get("beta", {"y": 0.7, "s": 0.3})
    scores = [beta["y"] * e["honesty"] + beta["s"] * e.get("curiosity", 0.0) for e in model.history]
    if name == "honest":
        scores = [e["honesty"] for e in model.history]
    assert model.chosen_epoch == 1 + int(np.argmax(scores))
    assert [e["epoch"] for e in model.history] == list(range(1, 13))


def test_argmax_takes_the_secret_away(trained: dict[str, TrainedModel], images: Samples) -> None:
    model, test = trained["raw"], images.where("test")
    assert model.decoder is not None
    logits = outputs(model.classifier, images.values[test], "logits")
    onehot = np.eye(2, dtype=np.float32)[logits.argmax(axis=1)]
    predicted, _ = model.decoder.infer(onehot, "logits")
    assert len({(tuple(o), p) for o, p in zip(onehot.tolist(), predicted.tolist(), strict=True)}) <= 2


def test_the_same_recipe_gives_the_same_model_whatever_happened_before(images: Samples) -> None:
    state = torch.get_rng_state()
    first = train(recipe(*CASES["raw"]), images)
    assert torch.equal(torch.get_rng_state(), state)
    torch.rand(17)
    again = train(recipe(*CASES["raw"]), images)
    other = train(recipe(*CASES["raw"], seed=1), images)
    assert first.history[0]["loss"] == again.history[0]["loss"] != other.history[0]["loss"]
    for one, two in zip(first.classifier.parameters(), again.classifier.parameters(), strict=True):
        assert torch.equal(one, two)


def test_progress_is_told_after_every_epoch(images: Samples) -> None:
    told: list[dict[str, float]] = []
    model = train(recipe(*CASES["raw"], epochs=2), images, progress=told.append)
    ends = [event for event in told if "loss" in event]
    assert [event["progress"] for event in ends] == [0.5, 1.0]
    assert [{k: v for k, v in event.items() if k != "progress"} for event in ends] == model.history


def test_images_with_an_unknown_label_are_left_out(images: Samples) -> None:
    shoe = images.labels["shoe"].copy()
    shoe[images.where("test")[:50]] = -1
    shoe[images.where("train")[:100]] = -1
    partly = dataclasses.replace(images, labels={**images.labels, "shoe": shoe})
    model = train(recipe(*CASES["raw"]), partly)
    assert model.figures["test"]["samples"] == len(images.where("test")) - 50


def test_a_gray_image_of_another_shape_trains_as_well() -> None:
    model = train(recipe(*CASES["raw"]), patches(count=200, size=20, channels=1))
    assert model.classifier.spec == SampleSpec.picture(20, 20, 1)


@pytest.mark.parametrize(
    ("behaviour", "parameters", "message"),
    [
        ("honest", {"target": "shirt"}, "no attribute 'shirt' for target; there are: bag, hat, mood, shoe"),
        ("curious/parameterized", {"target": "hat", "sensitive": "shirt"}, "for sensitive"),
        ("curious/regularized", {"target": "hat", "sensitive": "bag"}, "binary attribute; 'bag' has 3"),
    ],
)
def test_what_the_data_cannot_give_is_refused(
    behaviour: str, parameters: dict[str, object], message: str, images: Samples
) -> None:
    with pytest.raises(InvalidInput, match=message):
        train(recipe(behaviour, parameters), images)


def test_wrong_parameters_and_names_are_refused(images: Samples) -> None:
    with pytest.raises(ValidationError, match="sensitive"):
        train(recipe("honest", {"target": "hat", "sensitive": "shoe"}), images)
    with pytest.raises(ValidationError, match="release"):
        train(recipe("curious/parameterized", {"target": "hat", "sensitive": "shoe", "release": "x"}), images)
    with pytest.raises(UnknownName, match="did you mean 'honest'"):
        train(recipe("onest", {"target": "hat"}), images)
    with pytest.raises(InvalidInput, match="at least one batch of 40"):
        train(recipe("honest", {"target": "hat"}), patches(count=60))


def test_the_learning_rate_of_a_schedule_is_that_of_every_net(images: Samples) -> None:
    falling = recipe("curious/parameterized", {"target": "hat", "sensitive": "shoe"}, epochs=4)
    falling = falling.model_copy(update={"schedule": falling.schedule.model_copy(update={"decay": "cosine"})})
    rates = []
    with seeded(0):
        training = Training(falling, images)
        for _ in range(3):
            training.epoch()
            rates.append([moving.lr for moving in training.trainee.optimisers()])
    assert np.allclose(rates, np.array([[1.0, 1.0], [0.853553, 0.853553], [0.5, 0.5]]) * falling.schedule.lr)
