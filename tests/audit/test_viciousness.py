"""Continued training: what it tells apart, what it leaves alone, and its figure computed in another way."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cosine
from torch import nn

from leakrange.audit.viciousness import Viciousness, viciousness
from leakrange.data.samples import Samples
from leakrange.jobs.audit import ViciousnessSettings
from leakrange.nets import nets
from leakrange.nets.classifier import Classifier
from leakrange.nets.mixture import mixture
from leakrange.providers.inference import outputs
from leakrange.wire.errors import InvalidArtifact, InvalidInput

QUICK = ViciousnessSettings(rounds=6, batch=16, output="logits")


def examined(
    model: Classifier, images: Samples, settings: ViciousnessSettings = QUICK, seed: int = 0, count: int = 60
) -> Viciousness:
    own, tested = images.where("auxiliary")[:count], images.where("test")
    return viciousness(
        model, images.values[own], images.labels["hat"][own], images.values[tested], settings, seed
    )


def test_a_model_with_a_second_objective_moves_further(
    honest: Classifier, curious: Classifier, images: Samples
) -> None:
    straight, bent = examined(honest, images), examined(curious, images)
    assert straight.v[-1] < 0.01 < bent.v[-1]


def test_v_is_that_of_the_outputs_before_and_after(curious: Classifier, images: Samples) -> None:
    found = examined(curious, images)
    before = outputs(curious, images.values[images.where("test")], "logits")
    np.testing.assert_allclose(found.before, before, atol=1e-5)
    apart = [cosine(one, other) for one, other in zip(before, found.after, strict=True)]
    assert found.v[-1] == pytest.approx(np.mean(apart) / 2, abs=1e-6)
    np.testing.assert_allclose(found.cosines, 1 - np.array(apart), atol=1e-6)
    # Fewer rounds are the first of more.
    np.testing.assert_array_equal(
        examined(curious, images, QUICK.model_copy(update={"rounds": 2})).v, found.v[:2]
    )


def test_softmax_outputs_are_compared_where_asked(curious: Classifier, images: Samples) -> None:
    found = examined(curious, images, QUICK.model_copy(update={"output": "softmax"}))
    soft = [torch.from_numpy(each).softmax(dim=1).numpy() for each in (found.before, found.after)]
    apart = [cosine(one, other) for one, other in zip(*soft, strict=True)]
    assert found.v[-1] == pytest.approx(np.mean(apart) / 2, abs=1e-6)


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_the_model_stays_as_it_is_and_the_seed_decides(
    mode: str, curious: Classifier, images: Samples
) -> None:
    kept = {name: tensor.clone() for name, tensor in curious.state_dict().items()}
    settings = QUICK.model_copy(update={"mode": mode})
    state = torch.random.get_rng_state()
    one, same, other = (examined(curious, images, settings, seed) for seed in (3, 3, 4))
    assert torch.equal(state, torch.random.get_rng_state())
    assert all(torch.equal(kept[name], tensor) for name, tensor in curious.state_dict().items())
    assert not curious.training
    assert not any(parameter.requires_grad for parameter in curious.parameters())
    np.testing.assert_array_equal(one.v, same.v)
    assert (one.v != other.v).any()


def test_a_single_sample_over_joins_the_batch_before(images: Samples) -> None:
    flat = int(np.prod(images.spec.shape))
    body = nn.Sequential(
        nn.Flatten(), nn.Linear(flat, 4), nn.BatchNorm1d(4)
    )  # which knows no variance of one
    normalised = Classifier(body, nn.Linear(4, 2), spec=images.spec, features=4, classes=2).eval()
    training = QUICK.model_copy(update={"mode": "train"})
    examined(normalised, images, training, count=33)  # 16 + 16 + 1
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        examined(normalised, images, training, count=1)


def test_what_does_not_fit_the_model_is_refused(honest: Classifier, images: Samples) -> None:
    values, labels = images.values[:40], images.labels["hat"][:40]
    with pytest.raises(InvalidInput, match="shape"):
        viciousness(honest, values[:, :8], labels, values, QUICK, 0)
    with pytest.raises(InvalidInput, match="labels of shape"):
        viciousness(honest, values, labels[:5], values, QUICK, 0)
    with pytest.raises(InvalidInput, match="no class"):
        viciousness(honest, values, labels - 1, values, QUICK, 0)


def test_a_model_that_rounds_its_outputs_cannot_be_trained_further(images: Samples) -> None:
    nothing = [nets["strided-conv"].build(images.spec, 2, 0.25) for _ in range(2)]
    rounds = mixture(*nothing, beta_s=0.3, hard=True).eval()
    with pytest.raises(InvalidArtifact, match="no gradient"):
        examined(rounds, images)


def test_a_model_that_bursts_is_refused(honest: Classifier, images: Samples) -> None:
    weights = {name: tensor.clone() for name, tensor in honest.state_dict().items()}
    try:
        with torch.no_grad():
            for parameter in honest.parameters():
                parameter.mul_(1e30)
        with pytest.raises(InvalidArtifact, match="not finite"):
            examined(honest, images)
    finally:
        honest.load_state_dict(weights)
