"""The vicious classifier and its decoder (VICIOUS, Sections 2 and 3)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from leakrange.data import Samples
from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe
from leakrange.metrics import softmax
from leakrange.metrics.reconstruction import psnr, ssim
from leakrange.nets.classifier import to_input
from leakrange.nets.reconstructor import from_pixels, to_pixels
from leakrange.providers import artifact
from leakrange.providers.augmentation import augmented
from leakrange.providers.behaviours import behaviours
from leakrange.providers.behaviours.vicious import Vicious
from leakrange.providers.decoders.reconstruction import ReconstructionDecoder
from leakrange.providers.inference import logits_of, outputs
from leakrange.providers.loop import Lessons, seeded
from leakrange.providers.model_file import load_decoder
from leakrange.providers.target_task import TargetTask
from leakrange.providers.training import TrainedModel, Training, train
from leakrange.wire.errors import InvalidArtifact, InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.providers.pictures import patches


def recipe(**parameters: object) -> TrainingRecipe:
    return TrainingRecipe(
        data=DataSpec(name="patches"),
        behaviour="vicious",
        parameters={"target": "hat", **parameters},
        net=NetSpec(name="strided-conv", width=0.5),
        schedule=Schedule(epochs=10, batch=40, lr=3e-3),
    )


@pytest.fixture(scope="module")
def pictures() -> Samples:
    return patches(noise=8)


@pytest.fixture(scope="module")
def vicious(pictures: Samples) -> TrainedModel:
    return train(recipe(), pictures)


def victims(samples: Samples) -> tuple[np.ndarray, np.ndarray]:
    """Test pictures, and the mean of the training pictures."""
    mean = samples.values[samples.where("train")].mean(axis=0)
    return samples.values[samples.where("test")], mean


def error(found: np.ndarray, truth: np.ndarray) -> float:
    return float(((found - truth.astype(np.float64)) ** 2).mean())


def test_two_numbers_become_the_picture_that_the_user_kept(vicious: TrainedModel, pictures: Samples) -> None:
    assert vicious.decoder is not None
    users, mean = victims(pictures)
    found = vicious.decoder.infer(outputs(vicious.classifier, users, "logits"), "logits")
    assert isinstance(found, np.ndarray)
    assert (found.shape, found.dtype) == (users.shape, np.float32)
    assert error(found, users) < 0.4 * error(mean, users)
    assert vicious.figures["test"]["honesty"] > 0.95
    told = vicious.history[vicious.chosen_epoch - 1]
    assert told["ssim"] > 0.5
    guess = np.broadcast_to(mean / 255, users.shape)
    assert told["psnr"] > psnr(users / 255, guess).mean() + 10.0


def test_another_user_s_release_gives_another_picture(vicious: TrainedModel, pictures: Samples) -> None:
    assert vicious.decoder is not None
    users, _ = victims(pictures)
    found = vicious.decoder.infer(outputs(vicious.classifier, users, "logits"), "logits")
    assert error(np.roll(found, 1, axis=0), users) > 1.5 * error(found, users)


@pytest.mark.parametrize("release", ["softmax", "features"])
def test_g_reads_the_release_that_it_was_trained_on(release: str, pictures: Samples) -> None:
    made = train(recipe(release=release), pictures)
    assert made.default_release == release
    assert made.decoder is not None
    users, mean = victims(pictures)
    found = made.decoder.infer(outputs(made.classifier, users, release), release)
    assert error(found, users) < 0.8 * error(mean, users)  # a softmax of two classes is but one number
    with pytest.raises(InvalidInput):
        made.decoder.infer(outputs(made.classifier, users, release)[:, :1], release)
    if release == "features":
        with pytest.raises(InvalidInput, match="reads features, not 'logits'"):
            made.decoder.infer(outputs(made.classifier, users, "logits"), "logits")


@pytest.mark.parametrize("release", ["logits", "softmax", "features"])
def test_an_epoch_is_judged_by_the_logits_that_are_known_already(release: str, pictures: Samples) -> None:
    """Only features are computed once more."""
    training = Training(recipe(release=release), pictures, "cpu")
    validation = training.parts["validation"]
    logits = logits_of(training.trainee.classifier, validation.inputs)
    own, others = (training.trainee.judge(given, validation) for given in (logits, 9 * logits.roll(1, 0)))
    assert (own.figures == others.figures) == (release == "features")


@pytest.mark.parametrize(("c", "r"), [(1.0, 1.0), (0.2, 9.0)])
def test_an_epoch_is_scored_by_the_errors_of_its_pictures_whatever_beta_is(
    c: float, r: float, pictures: Samples
) -> None:
    """Honesty − α·(1 − SSIM) − γ·MSE; PSNR and SSIM are those of tables, means over pictures."""
    weights = {"ssim": 0.7, "huber": 3.0}
    training = Training(recipe(beta={"c": c, "r": r}, loss=weights), pictures, "cpu")
    validation = training.parts["validation"]
    logits = logits_of(training.trainee.classifier, validation.inputs)
    judged = training.trainee.judge(logits, validation)
    decoder = training.trainee.decoder()
    assert isinstance(decoder, ReconstructionDecoder)
    drawn = decoder.infer(logits.numpy(), "logits") / 255
    truth = validation.inputs.numpy() / 255
    assert judged.figures["psnr"] == pytest.approx(psnr(truth, drawn).mean(), abs=1e-3)
    assert judged.figures["ssim"] == pytest.approx(ssim(truth, drawn).mean(), abs=1e-4)
    honesty = float((logits.argmax(dim=1) == validation.target).double().mean())
    expected = honesty - 0.7 * (1.0 - ssim(truth, drawn).mean()) - 3.0 * ((drawn - truth) ** 2).mean()
    assert judged.score == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("weight", [0.5, 2.0])
def test_a_step_weighs_classification_by_its_beta(weight: float, pictures: Samples) -> None:
    """Eq. 4: β^C·L^C + β^R·L^R, of nets that begin alike."""
    inputs, target = to_input(torch.from_numpy(pictures.values[:40]), pictures.spec), torch.arange(40) % 2
    losses = {}
    for c in (0.0, weight):
        with seeded(4):
            trainee = Training(recipe(beta={"c": c, "r": 2.0}), pictures, "cpu").trainee
        assert isinstance(trainee, Vicious)
        trainee.classifier.train()
        with torch.no_grad():
            classification = float(trainee.task.loss(trainee.classifier(inputs), target))
        losses[c] = float(trainee.step(inputs, target, None))
    assert losses[weight] - losses[0.0] == pytest.approx(weight * classification, abs=1e-4)


def test_a_sigmoid_hides_nothing(pictures: Samples, tmp_path: Path) -> None:
    """It is one-to-one: soft values give the pictures that logits give (VICIOUS, Section 3, finding 3)."""
    made = train(recipe(target=["hat", "shoe"], sigmoid=True), pictures)
    loaded = artifact.load(artifact.save(tmp_path, made))
    users, mean = victims(pictures)
    logits = outputs(loaded.classifier, users, "logits")
    assert (logits[:, ::2] == 0.0).all()
    assert loaded.decoder is not None
    of_logits = loaded.decoder.infer(logits, "logits")
    of_soft = loaded.decoder.infer(softmax(logits, (2, 2)).astype(np.float32), "softmax")
    assert error(of_logits, users) < 0.5 * error(mean, users)
    np.testing.assert_allclose(of_soft, of_logits, atol=1.0)
    with pytest.raises(InvalidInput, match="binary"):
        train(recipe(target="bag", sigmoid=True), pictures)


def test_without_classification_only_the_picture_is_learned(pictures: Samples) -> None:
    made = train(recipe(target="bag", beta={"c": 0, "r": 1}), pictures)
    assert made.figures["test"]["honesty"] < 0.75
    assert made.history[-1]["ssim"] > 0.5


def test_eq_2_weighs_the_rarer_class_by_how_rare_it_is() -> None:
    target = torch.tensor([[1, 0], [0, 0], [0, 1], [0, 1]])
    task = TargetTask((2, 2), sigmoid=True)
    task.study(Lessons(torch.zeros(4, 1), target))
    z = torch.tensor([[0.3, -1.0], [2.0, 0.5], [-0.7, 0.1], [1.1, 4.0]], dtype=torch.float64)
    p = z.sigmoid()
    eta = torch.tensor([3.0, 1.0])
    expected = -(eta * target * p.log() + (1 - target) * (1 - p).log()).mean()
    logits = torch.stack([torch.zeros_like(z), z], dim=2).flatten(1)
    assert float(task.loss(logits, target)) == pytest.approx(float(expected), rel=1e-6)


def test_what_cannot_be_is_refused(pictures: Samples) -> None:
    with pytest.raises(ValidationError, match="above 0"):
        behaviours["vicious"].Parameters.model_validate({"target": "hat", "beta": {"c": 1, "r": 0}})
    with pytest.raises(InvalidInput, match="16, 24, 32"):
        train(recipe(), patches(count=200, size=20))


def test_a_decoder_with_a_net_that_nobody_knows_is_refused(vicious: TrainedModel) -> None:
    assert vicious.decoder is not None
    damaged = artifact.decoder_bytes(vicious.decoder).replace(b"strided-conv", b"strided-wind")
    with pytest.raises(InvalidArtifact, match="unknown reconstructor"):
        load_decoder(damaged)


def test_a_batch_holds_an_augmented_copy_of_each_of_its_pictures() -> None:
    samples = patches(count=40)
    lessons = Lessons(torch.from_numpy(samples.values), torch.arange(40))
    doubled = lessons.with_copies(torch.Generator().manual_seed(3))
    assert torch.equal(doubled.inputs[:40], lessons.inputs)
    assert torch.equal(doubled.target, torch.arange(40).repeat(2))
    changed = (doubled.inputs[40:] != lessons.inputs).flatten(1).float().mean(dim=1)
    assert (changed > 0.0).all()
    again = lessons.with_copies(torch.Generator().manual_seed(3))
    assert torch.equal(again.inputs, doubled.inputs)
    other = lessons.with_copies(torch.Generator().manual_seed(4))
    assert not torch.equal(other.inputs, doubled.inputs)


def test_every_way_of_augmenting_leaves_pixels_in_range() -> None:
    pixels = torch.rand(200, 3, 24, 32, generator=torch.Generator().manual_seed(0))
    copies = augmented(pixels, torch.Generator().manual_seed(1))
    assert copies.shape == pixels.shape
    assert float(copies.min()) >= 0.0
    assert float(copies.max()) <= 1.0
    mirrored = (copies == pixels.flip(3)).flatten(1).all(dim=1)
    assert 10 <= int(mirrored.sum()) <= 50


def test_pixels_go_there_and_back() -> None:
    samples = torch.randint(0, 256, (3, 16, 24, 3), dtype=torch.uint8)
    assert torch.equal(from_pixels(to_pixels(samples)).round().to(torch.uint8), samples)
    assert SampleSpec.picture(16, 24, 3).shape == (16, 24, 3)
