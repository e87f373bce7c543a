"""Learning to draw samples from releases: what they hold comes back, and what they do not hold does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.attacks.attack import Pairs
from leakrange.attacks.extraction import CopyParameters, copied_net
from leakrange.attacks.reconstruction import Reconstruction, ReconstructionParameters
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
from leakrange.metrics import softmax
from leakrange.metrics.reconstruction import psnr
from leakrange.providers.inference import outputs
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

Release = Callable[[NDArray[np.int64]], NDArray[np.float32]]
DIGITS = load(DataSpec(name="digits", size=16))
OWN, USERS = DIGITS.where("train")[:150], DIGITS.where("test")[:80]
LABELS = DIGITS.labels["digit"]
PIXELS = DIGITS.values / 255.0


def reconstructed(release: Release, **changes: object) -> NDArray[np.float32]:
    parameters = ReconstructionParameters.model_validate({"epochs": 10, "decoder": {"width": 0.5}, **changes})
    given = Pairs(release(OWN), DIGITS.values[OWN], release(USERS), DIGITS.spec, seed=1)
    return Reconstruction(parameters).reconstruct(given)


def quality(found: NDArray[np.floating]) -> float:
    """Mean PSNR in dB of answers in [0, 1] for the users."""
    return float(psnr(PIXELS[USERS], np.broadcast_to(found, PIXELS[USERS].shape)).mean())


def coarse(chosen: NDArray[np.int64]) -> NDArray[np.float32]:
    """Sixteen numbers of a picture, the brightness of its parts, on scales far apart; in two axes."""
    parts = DIGITS.values[chosen].reshape(len(chosen), 4, 4, 4, 4).mean(axis=(2, 4), dtype=np.float64)
    return (parts * np.logspace(-3, 3, 16).reshape(4, 4)).astype(np.float32)


def nothing(chosen: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.full((len(chosen), 3), 0.25, np.float32)


def labels(chosen: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.eye(10, dtype=np.float32)[LABELS[chosen]]


def test_what_a_release_says_of_a_picture_is_drawn() -> None:
    found = reconstructed(coarse)
    assert (found.shape, found.dtype) == ((80, 16, 16, 1), np.float32)
    assert 100 < found.max() <= 255
    assert found.min() >= 0
    mean = PIXELS[OWN].mean(axis=0)
    assert quality(found / 255.0) > quality(mean) + 3.0


def test_releases_that_say_nothing_give_the_mean_picture() -> None:
    found = reconstructed(nothing) / 255.0
    assert np.ptp(found, axis=0).max() < 1e-6
    mean = PIXELS[OWN].mean(axis=0)
    assert quality(mean) - 0.5 < quality(found) < quality(mean) + 0.1
    np.testing.assert_array_equal(reconstructed(nothing) / 255.0, found)  # it depends on the seed alone
    constant_for_users = reconstructed(lambda chosen: coarse(chosen) if chosen is OWN else coarse(OWN[:80]))
    assert quality(constant_for_users / 255.0) < quality(mean)  # what belongs to others does not help


def test_of_releases_of_noise_no_lesson_is_learned_by_heart() -> None:
    def noise(chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        return np.random.default_rng(len(chosen)).normal(size=(len(chosen), 16)).astype(np.float32)

    found = quality(reconstructed(noise, epochs=60) / 255.0)
    assert found > quality(PIXELS[OWN].mean(axis=0)) - 0.3


def test_a_label_gives_the_mean_of_its_class_and_no_more() -> None:
    found = reconstructed(labels, epochs=20) / 255.0
    means = np.stack([PIXELS[OWN][LABELS[OWN] == digit].mean(axis=0) for digit in range(10)])
    best = quality(means[LABELS[USERS]])
    assert quality(PIXELS[OWN].mean(axis=0)) + 1.0 < quality(found) < best + 0.1


def test_what_is_next_to_nothing_in_a_softmax_is_read_by_its_logarithm() -> None:
    def sure(chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        parts = DIGITS.values[chosen].reshape(len(chosen), 4, 4, 4, 4).mean(axis=(2, 4), dtype=np.float64)
        scores = np.concatenate([np.full((len(chosen), 1), 60.0), parts.reshape(-1, 16) / 16], axis=1)
        return np.asarray(softmax(scores), dtype=np.float32)

    assert sure(OWN)[:, 1:].max() < 1e-18  # the first class takes it all
    assert quality(reconstructed(sure) / 255.0) > quality(PIXELS[OWN].mean(axis=0)) + 3.0


def test_a_value_that_never_changed_says_nothing() -> None:
    def broken(chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        beside = np.full((len(chosen), 1), 7.0 if chosen is OWN else 1e6, np.float32)
        return np.concatenate([coarse(chosen).reshape(len(chosen), -1), beside], axis=1)

    assert quality(reconstructed(broken) / 255.0) > quality(PIXELS[OWN].mean(axis=0)) + 3.0


@pytest.mark.parametrize(
    ("auxiliary", "samples", "observed", "said"),
    [
        (np.zeros((60, 3)), 60, np.zeros((4, 2)), "do not match"),
        (np.zeros((60, 3)), 59, np.zeros((4, 3)), "59 samples for 60"),
        (np.zeros((49, 3)), 49, np.zeros((4, 3)), "at least 50"),
        (np.zeros((60, 3)), 60, np.full((4, 3), np.nan), "not finite"),
    ],
)
def test_evidence_that_cannot_be_used_is_refused(
    auxiliary: NDArray[np.float64], samples: int, observed: NDArray[np.float64], said: str
) -> None:
    given = Pairs(
        auxiliary.astype(np.float32),
        np.zeros((samples, 16, 24, 1), np.uint8),
        observed.astype(np.float32),
        SampleSpec.picture(16, 24, 1),
    )
    with pytest.raises(InvalidInput, match=said):
        Reconstruction().reconstruct(given)


def test_parameters_are_bounded() -> None:
    for wrong in ({"auxiliary": 49}, {"epochs": 0}, {"decoder": {"width": 0}}, {"records": "test"}):
        with pytest.raises(ValidationError):
            ReconstructionParameters.model_validate(wrong)
    misfit = Reconstruction.misfit
    unknown = ReconstructionParameters.model_validate({"decoder": {"name": "strided"}})
    assert "unknown net G 'strided'; there are strided-conv, wide-resnet" in str(misfit(unknown, DIGITS.spec))
    assert "pictures with sides of" in str(misfit(ReconstructionParameters(), SampleSpec.picture(20, 20, 1)))
    assert misfit(ReconstructionParameters(), SampleSpec.picture(16, 24, 3)) is None


def test_a_copy_answers_for_samples_that_were_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of sixty answers of a model and four hundred more digits a better decoder is made than of the sixty;
    of answers that say nothing none is."""
    pool = DIGITS.where("train")
    own, more, theirs = pool[:60], pool[60:460], pool[500:]
    monkeypatch.setattr("leakrange.attacks.reconstruction.PATIENCE", 6)
    model = copied_net(
        DIGITS.values[theirs],
        np.eye(10, dtype=np.float32)[LABELS[theirs]],
        "softmax",
        DIGITS.spec,
        CopyParameters(epochs=10),
        3,
    )
    attack = Reconstruction(ReconstructionParameters(epochs=25))

    def drawn(release: Release, unasked: NDArray[np.int64] | None, seed: int = 1) -> float:
        rest = None if unasked is None else DIGITS.values[unasked]
        pairs = Pairs(release(own), DIGITS.values[own], release(USERS), DIGITS.spec, seed, rest)
        return quality(attack.reconstruct(pairs) / 255.0)

    def scores(chosen: NDArray[np.int64]) -> NDArray[np.float32]:
        return outputs(model, DIGITS.values[chosen], "logits") + 7.0  # what all logits share is no matter

    # The gain of one seed is .2 to 1.7, and differs between processors.
    gains = [drawn(scores, more, seed) - drawn(scores, None, seed) for seed in range(1, 5)]
    assert np.mean(gains) > 0.3
    assert drawn(nothing, more) < quality(PIXELS[own].mean(axis=0)) + 0.1
