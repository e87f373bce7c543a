"""Models that answer for several attributes, and hide several."""

from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch.autograd import gradcheck

from leakrange.data.samples import Samples
from leakrange.jobs.recipe import TrainingRecipe
from leakrange.providers import artifact
from leakrange.providers.inference import outputs
from leakrange.providers.losses import parameterized_loss
from leakrange.providers.training import TrainedModel, train
from leakrange.wire.errors import InvalidArtifact, InvalidInput
from tests.providers.conftest import recipe
from tests.providers.test_artifact import config, with_config

TWO_AND_TWO = {"target": ["hat", "mood"], "sensitive": ["shoe", "bag"], "beta": {"y": 0.5, "s": 0.5}}


@pytest.fixture(scope="module")
def honest(images: Samples) -> TrainedModel:
    return train(recipe("honest", {"target": ["hat", "bag"]}, epochs=12), images)


@pytest.fixture(scope="module")
def curious(images: Samples) -> TrainedModel:
    return train(recipe("curious/parameterized", TWO_AND_TWO, epochs=25), images)


def truth(images: Samples, split: str, *attributes: str) -> np.ndarray:
    return np.stack([images.labels[name][images.where(split)] for name in attributes], axis=1)


def test_an_honest_model_answers_for_two_attributes(honest: TrainedModel, images: Samples) -> None:
    assert honest.target_classes == ("hat: bare", "hat: hat", "bag: none", "bag: small", "bag: large")
    test = images.values[images.where("test")]
    soft = outputs(honest.classifier, test, "softmax")
    np.testing.assert_allclose(soft[:, :2].sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(soft[:, 2:].sum(axis=1), 1.0, rtol=1e-5)
    answered = np.stack([soft[:, :2].argmax(axis=1), soft[:, 2:].argmax(axis=1)], axis=1)
    right = answered == truth(images, "test", "hat", "bag")
    assert (right.mean(axis=0) > 0.9).all()
    assert honest.figures["test"]["honesty"] == pytest.approx(right.mean())


def test_a_curious_one_hides_two_behind_two(curious: TrainedModel, images: Samples) -> None:
    figures = curious.figures["test"]
    assert figures["honesty"] > 0.8  # nobody can be certain of the mood
    assert figures["curiosity"] > 0.8
    assert figures["majority"] < 0.5
    assert curious.decoder is not None
    released = outputs(curious.classifier, images.values[images.where("test")], "logits")
    read, scores = curious.decoder.infer(released, "logits")
    assert scores.shape == (len(released), 2 + 3)
    np.testing.assert_allclose(scores[:, 2:].sum(axis=1), 1.0, rtol=1e-5)
    right = read == truth(images, "test", "shoe", "bag")
    assert (right.mean(axis=0) > 0.75).all()
    assert right.mean() == pytest.approx(figures["curiosity"])


def test_what_was_saved_infers_the_same(curious: TrainedModel, images: Samples, tmp_path: Path) -> None:
    loaded = artifact.load(artifact.save(tmp_path, curious))
    assert (loaded.config.target, loaded.config.heads) == ("hat, mood", (2, 2))
    values = images.values[:20]
    soft = outputs(loaded.classifier, values, "softmax")
    np.testing.assert_array_equal(soft, outputs(curious.classifier, values, "softmax"))
    assert loaded.decoder is not None
    assert curious.decoder is not None
    for one, two in zip(
        loaded.decoder.infer(soft, "softmax"), curious.decoder.infer(soft, "softmax"), strict=True
    ):
        np.testing.assert_array_equal(one, two)
    again = TrainingRecipe.model_validate_json(curious.recipe.model_dump_json())
    assert again.digest() == curious.recipe.digest()


def test_heads_that_do_not_add_up_are_refused(curious: TrainedModel) -> None:
    from leakrange.providers.model_file import load_classifier, load_decoder

    public = artifact.classifier_bytes(curious)
    assert config(public)["heads"] == [2, 2]
    with pytest.raises(InvalidArtifact, match="5 classes, 4 are named"):
        load_classifier(with_config(public, heads=[2, 3]))
    assert curious.decoder is not None
    with pytest.raises(InvalidArtifact, match="do not add up to 5"):
        load_decoder(with_config(artifact.decoder_bytes(curious.decoder), hidden=[2, 2]))


@pytest.mark.parametrize(
    ("behaviour", "parameters", "said"),
    [
        ("curious/regularized", {"target": ["hat", "bag"], "sensitive": "shoe"}, "one attribute for target"),
        ("curious/mixture", {"target": ["hat", "bag"], "sensitive": "shoe"}, "one attribute for target"),
        ("honest", {"target": ["hat", "shirt"]}, "no attribute 'shirt' for target"),
        ("honest", {"target": ["hat", "hat"]}, "named twice"),
    ],
)
def test_what_a_behaviour_cannot_do_is_refused(
    behaviour: str, parameters: dict[str, object], said: str, images: Samples
) -> None:
    with pytest.raises((InvalidInput, ValidationError), match=said):
        train(recipe(behaviour, parameters), images)


@pytest.mark.parametrize("kind", ["logits", "softmax"])
def test_each_term_is_the_mean_over_its_attributes(kind: str) -> None:
    torch.manual_seed(0)
    logits, inferred = (torch.randn(6, 5, dtype=torch.float64, requires_grad=True) for _ in range(2))
    target = torch.stack([torch.randint(0, 2, (6,)), torch.randint(0, 3, (6,))], dim=1)
    sensitive = target.flip(1)

    def loss(x: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        return parameterized_loss(
            x,
            target,
            g,
            sensitive,
            kind=kind,
            beta_x=0.2,
            beta_y=0.5,
            beta_s=0.3,
            heads=(2, 3),
            hidden=(3, 2),
        )  # type: ignore[call-overload]

    alone = [
        parameterized_loss(
            logits[:, y],
            target[:, i],
            inferred[:, s],
            sensitive[:, i],
            kind=kind,
            beta_x=0.2,
            beta_y=0.5,
            beta_s=0.3,
        )  # type: ignore[call-overload]
        for i, (y, s) in enumerate([(slice(0, 2), slice(0, 3)), (slice(2, 5), slice(3, 5))])
    ]
    torch.testing.assert_close(loss(logits, inferred), torch.stack(alone).mean())
    assert gradcheck(loss, (logits, inferred))
