"""Mixtures and the convex case as a provider trains, stores and serves them."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from safetensors.torch import save as to_safetensors

from leakrange.data import datasets, load
from leakrange.data.samples import Attribute, Samples
from leakrange.defences.output import Chain, ReleaseContext
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.nets import nets
from leakrange.nets.classifier import to_input
from leakrange.providers import artifact
from leakrange.providers.behaviours import behaviours
from leakrange.providers.behaviours.mixture import Mixture
from leakrange.providers.decoders.vertex import VertexDecoder
from leakrange.providers.inference import outputs
from leakrange.providers.losses import target_loss
from leakrange.providers.model_file import load_classifier, load_decoder
from leakrange.providers.training import TrainedModel, train
from leakrange.wire.errors import InvalidArtifact, InvalidInput
from tests.providers.conftest import recipe
from tests.providers.test_artifact import Header, config, header, with_config

POINTS = DataSpec(name="quadrants", count=4000)
POINT = datasets["quadrants"].spec


def points_recipe(behaviour: str, **parameters: object) -> TrainingRecipe:
    return TrainingRecipe(
        data=POINTS,
        behaviour=behaviour,
        parameters={"target": "y", "sensitive": "s", **parameters},
        net=NetSpec(name="linear"),
        schedule=Schedule(epochs=5, batch=50, lr=0.05),
    )


@pytest.fixture(scope="module")
def points() -> Samples:
    return load(POINTS)


@pytest.fixture(scope="module")
def hard(points: Samples) -> TrainedModel:
    return train(points_recipe("curious/mixture", mixture="hard"), points)


@pytest.fixture(scope="module")
def three_of_four(images: Samples) -> tuple[Samples, TrainedModel]:
    """y of four classes (hat and shoe together), s of three (bag)."""
    outfit = Attribute("outfit", ("neither", "shoe", "hat", "both"))
    four = dataclasses.replace(
        images,
        attributes={**images.attributes, "outfit": outfit},
        labels={**images.labels, "outfit": 2 * images.labels["hat"] + images.labels["shoe"]},
    )
    chosen = recipe("curious/mixture", {"target": "outfit", "sensitive": "bag"}, epochs=12)
    return four, train(chosen, four)


def test_a_hard_mixture_tells_both_attributes_by_four_values(hard: TrainedModel, points: Samples) -> None:
    test = points.where("test")
    released = outputs(hard.classifier, points.values[test], "softmax")
    assert sorted(set(np.round(released[:, 1].astype(np.float64), 6).tolist())) == [0.0, 0.2, 0.8, 1.0]
    assert isinstance(hard.decoder, VertexDecoder)
    y, s = hard.decoder.both(released, "softmax")
    assert np.mean(y == points.labels["y"][test]) == np.mean(s == points.labels["s"][test]) == 1.0
    assert (released.argmax(axis=1) == y).all()


def test_of_equally_good_epochs_the_last_is_kept(hard: TrainedModel) -> None:
    scores = [0.8 * entry["honesty"] + 0.2 * entry["curiosity"] for entry in hard.history]
    assert scores.count(max(scores)) > 1
    assert hard.chosen_epoch == max(n for n, score in enumerate(scores, 1) if score == max(scores))


def test_a_mixture_hides_fewer_classes_than_it_answers(three_of_four: tuple[Samples, TrainedModel]) -> None:
    images, model = three_of_four
    figures = model.figures["test"]
    assert figures["honesty"] > 0.9
    assert figures["curiosity"] > 0.9
    released = outputs(model.classifier, images.values[:50], "softmax")
    np.testing.assert_allclose(released.sum(axis=1), 1.0, rtol=1e-6)


def test_rounding_to_a_digit_leaves_a_hard_mixture_and_a_label_alone_does_not(
    hard: TrainedModel, points: Samples
) -> None:
    test = points.where("test")
    released = outputs(hard.classifier, points.values[test], "softmax")
    truth = points.labels["s"][test]
    assert hard.decoder is not None

    def curiosity(*chain: object) -> float:
        context = ReleaseContext(release="softmax", draw=np.random.default_rng(0))
        seen = Chain.parse(list(chain)).apply(released, context)
        return float(np.mean(hard.decoder.infer(seen, "softmax")[0] == truth))  # type: ignore[union-attr]

    assert curiosity({"round": {"decimals": 1}}) == 1.0
    assert curiosity("argmax") < 0.6


def test_the_two_classifiers_are_trained_each_for_itself() -> None:
    """A step of the mixture is a step of each classifier alone on its own attribute."""
    from leakrange.nets.mixture import MixtureHead
    from leakrange.nets.optimisers import Adam

    torch.manual_seed(0)
    parameters = Mixture.Parameters.model_validate({"target": "y", "sensitive": "s"})
    mixed = Mixture.build(parameters, lambda n: nets["linear"].build(POINT, n), 2, 2)
    assert isinstance(mixed.head, MixtureHead)
    torch.manual_seed(0)
    alone = [nets["linear"].build(POINT, 2) for _ in range(2)]
    x = torch.randn(20, 2, 1, 1)
    labels = [torch.randint(0, 2, (20,)) for _ in range(2)]
    trainee = Mixture(parameters, mixed, 2, Schedule(lr=0.1))
    optimisers = [Adam(net.parameters(), lr=0.1) for net in alone]
    for _ in range(3):
        trainee.step(x, *labels)
        for net, optimiser, label in zip(alone, optimisers, labels, strict=True):
            optimiser.zero_grad()
            target_loss(net(x), label, "logits").backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    for net, head in zip(alone, (mixed.head.y, mixed.head.s), strict=True):
        torch.testing.assert_close(net.head.weight, head.weight, rtol=0, atol=1e-7)


def test_the_mixture_is_stored_and_served_like_any_model(
    hard: TrainedModel, points: Samples, tmp_path: Path
) -> None:
    loaded = artifact.load(artifact.save(tmp_path, hard))
    pictures = points.values[:100].copy()
    for kind in ("logits", "softmax", "features"):
        np.testing.assert_array_equal(
            outputs(loaded.classifier, pictures, kind), outputs(hard.classifier, pictures, kind)
        )
    assert isinstance(loaded.decoder, VertexDecoder)
    assert vars(loaded.decoder) == vars(hard.decoder)
    public = artifact.classifier_bytes(hard)
    assert config(public)["mixture"] == {"classes": 2, "beta_s": pytest.approx(0.2), "hard": True}
    assert "sensitive" not in json.dumps(header(public))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": 3}, "S must be at most Y"),
        ({"classes": 1}, "classes"),
        ({"classes": 10**9}, "classes"),
        ({"beta_s": 0.5}, "beta_s"),
        ({"beta_s": 0.0}, "beta_s"),
        ({"beta_s": float("nan")}, "not valid"),
        ({"hard": "maybe"}, "hard"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_a_mixture_that_cannot_be_is_refused(changes: Header, message: str, hard: TrainedModel) -> None:
    public = artifact.classifier_bytes(hard)
    with pytest.raises(InvalidArtifact, match=message):
        load_classifier(with_config(public, mixture=config(public)["mixture"] | changes))


def test_a_mixture_that_is_passed_off_as_one_net_is_refused(hard: TrainedModel) -> None:
    public = artifact.classifier_bytes(hard)
    with pytest.raises(InvalidArtifact, match="4 features, its net has 2"):
        load_classifier(with_config(public, mixture=None))
    with pytest.raises(InvalidArtifact, match="do not fit its config"):
        load_classifier(with_config(public, mixture=None, features=2))
    with pytest.raises(InvalidArtifact, match="width is 1"):
        load_classifier(with_config(public, width=2.0))


def test_the_decoders_of_both_kinds_are_read_with_care(hard: TrainedModel, points: Samples) -> None:
    assert hard.decoder is not None
    content = artifact.decoder_bytes(hard.decoder)
    for changes, message in (
        ({"classes": 3}, "cannot be told"),
        ({"outputs": 10**9}, "outputs"),
        ({"beta_s": 0.5}, "beta_s"),
        ({"beta_s": float("nan")}, "not valid"),
        ({"kind": "oracle"}, "kind"),
        ({"surprise": 1}, "surprise"),
    ):
        with pytest.raises(InvalidArtifact, match=message):
            load_decoder(with_config(content, **changes))
    for told in ('{"kind":"vertex","outputs":2,"classes":2,"beta_s":0.2}', '{"kind":"argmax","outputs":2}'):
        assert load_decoder(to_safetensors({}, {"leakrange": told})).classes == 2
        with pytest.raises(InvalidArtifact, match="has no tensors"):
            load_decoder(to_safetensors({"a": torch.zeros(1)}, {"leakrange": told}))


def test_the_convex_decoder_survives_storage(points: Samples, tmp_path: Path) -> None:
    model = train(points_recipe("curious/convex", beta={"y": 0.5, "s": 0.5}), points)
    loaded = artifact.load(artifact.save(tmp_path, model))
    released = outputs(loaded.classifier, points.values[:50].copy(), "softmax")
    assert loaded.decoder is not None
    assert (loaded.decoder.infer(released, "softmax")[0] == released.argmax(axis=1)).all()
    assert model.figures["test"]["honesty"] == pytest.approx(0.75, abs=0.1)
    assert model.figures["test"]["curiosity"] == pytest.approx(0.75, abs=0.1)


def test_more_classes_than_outputs_are_refused(images: Samples) -> None:
    with pytest.raises(InvalidInput, match="'bag' has 3, 'hat' has 2"):
        train(recipe("curious/mixture", {"target": "hat", "sensitive": "bag"}), images)
    with pytest.raises(InvalidInput, match="as target a binary attribute; 'bag' has 3"):
        train(recipe("curious/convex", {"target": "bag", "sensitive": "hat"}), images)


@pytest.mark.parametrize("beta", [{"y": 0.5, "s": 0.5}, {"y": 0.2, "s": 0.8}, {"y": 1.0, "s": 0.0}])
def test_weights_that_cannot_be_told_apart_are_refused(beta: dict[str, float]) -> None:
    with pytest.raises(ValidationError, match="must exceed"):
        behaviours["curious/mixture"].Parameters.model_validate(
            {"target": "a", "sensitive": "b", "beta": beta}
        )


def test_only_the_ratio_of_the_weights_matters() -> None:
    parameters = behaviours["curious/mixture"].Parameters.model_validate(
        {"target": "a", "sensitive": "b", "beta": {"y": 8, "s": 2}}
    )
    assert parameters.beta.share == pytest.approx(0.2)


def test_a_points_model_takes_vectors_of_two_coordinates(hard: TrainedModel, points: Samples) -> None:
    x = to_input(torch.from_numpy(points.values[:3].copy()), points.spec)
    assert x.shape == (3, 2)
    with pytest.raises(InvalidInput, match="expected samples"):
        outputs(hard.classifier, np.zeros((1, 3), np.uint8), "softmax")
