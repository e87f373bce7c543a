"""Classifiers by cosines: the margin counts in training, and is not served."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.autograd import grad, gradcheck
from torch.func import functional_call

from leakrange.data.samples import Samples
from leakrange.nets import nets
from leakrange.nets.last_layers import CosineHead, with_cosines
from leakrange.providers import artifact
from leakrange.providers.inference import outputs
from leakrange.providers.margin_loss import margin_loss
from leakrange.providers.model_file import load_classifier
from leakrange.providers.training import TrainedModel
from leakrange.wire.errors import InvalidArtifact
from leakrange.wire.samples import SampleSpec


def test_eq_4_worked_by_hand() -> None:
    cosines = torch.tensor([[0.8, 0.1, -0.5], [0.2, 0.3, 0.9]], dtype=torch.float64)
    labels = torch.tensor([0, 1])
    scale, margin = 4.0, 0.25
    first = math.exp(4 * 0.55) / (math.exp(4 * 0.55) + math.exp(4 * 0.1) + math.exp(4 * -0.5))
    second = math.exp(4 * 0.05) / (math.exp(4 * 0.2) + math.exp(4 * 0.05) + math.exp(4 * 0.9))
    expected = -(math.log(first) + math.log(second)) / 2
    assert float(margin_loss(scale * cosines, labels, scale=scale, margin=margin)) == pytest.approx(expected)


def test_without_a_margin_it_is_the_cross_entropy_and_with_one_more() -> None:
    logits = torch.tensor([[3.0, -1.0], [0.5, 2.0]])
    labels = torch.tensor([0, 0])
    plain = torch.nn.functional.cross_entropy(logits, labels)
    assert torch.equal(margin_loss(logits, labels, scale=8.0, margin=0.0), plain)
    assert margin_loss(logits, labels, scale=8.0, margin=0.1) > plain + 0.2


def test_its_gradient_is_that_of_the_cosines() -> None:
    generator = torch.Generator().manual_seed(1)
    features = torch.randn(5, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    weight = torch.randn(3, 4, dtype=torch.float64, generator=generator, requires_grad=True)
    head = CosineHead(nn.Sequential(), weight, 5.0)
    labels = torch.tensor([0, 2, 1, 1, 0])

    def loss(features: Tensor, weight: Tensor) -> Tensor:
        logits = functional_call(head, {"weight": weight}, (features,))
        return margin_loss(logits, labels, scale=5.0, margin=0.3)

    assert gradcheck(loss, (features, weight))
    # their length counts for nothing, so nothing pulls along them
    pulls = grad(loss(features, weight), (features, weight))
    for given, pull in zip((features, weight), pulls, strict=True):
        assert float(pull.abs().max()) > 1e-3
        assert float((pull * given.detach()).sum(dim=1).abs().max()) < 1e-12


def test_what_is_served_are_scaled_cosines_without_a_margin(
    trained: dict[str, TrainedModel], images: Samples, tmp_path: Path
) -> None:
    model = trained["margin"]
    found = artifact.load(artifact.save(tmp_path, model))
    assert found.config.cosine == 16.0
    chosen = images.values[images.where("test")]
    served, features = (outputs(found.classifier, chosen, kind) for kind in ("logits", "features"))
    np.testing.assert_array_equal(served, outputs(model.classifier, chosen, "logits"))
    weight = found.classifier.head.weight.numpy()  # dropout lies before it, which does nothing here
    lengths = np.linalg.norm(features, axis=1)[:, None] * np.linalg.norm(weight, axis=1)
    np.testing.assert_allclose(served, 16.0 * features @ weight.T / lengths, atol=1e-4)


def test_it_learns(trained: dict[str, TrainedModel]) -> None:
    assert trained["margin"].figures["test"]["honesty"] > 0.9


def test_a_net_without_a_linear_head_has_no_cosines_and_a_file_no_two_forms(
    trained: dict[str, TrainedModel],
) -> None:
    net = nets["linear"].build(SampleSpec.picture(16, 16, 3), 2)
    with pytest.raises(ValueError, match="the last one of this net"):
        with_cosines(with_cosines(net, 3.0), 3.0)
    told = artifact.classifier_bytes(trained["margin"])
    with pytest.raises(InvalidArtifact, match="cosine"):
        load_classifier(told.replace(b'cosine\\":16.0', b'cosine\\":-6.0'))
