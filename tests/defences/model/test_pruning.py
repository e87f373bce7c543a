"""Pruning, against a sort by hand of the weights that must go."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

from leakrange.defences.model import ModelDefence, model_defences
from leakrange.nets import nets
from leakrange.nets.classifier import Classifier
from leakrange.wire.samples import SampleSpec

AMOUNTS = [0.2, 0.4, 0.5, 0.6, 0.8, 0.9]


@pytest.fixture(scope="module")
def classifier() -> Classifier:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nets["hbc"].build(SampleSpec.picture(32, 32, 3), 3, 0.25).eval()


def prune(**given: object) -> ModelDefence[object]:  # type: ignore[type-var]
    kind = model_defences["prune"]
    return kind(kind.Parameters.model_validate(given))


def weights(classifier: Classifier) -> dict[str, NDArray[np.float32]]:
    """Of convolutions and linear layers, by name."""
    return {
        name: layer.weight.detach().numpy()
        for name, layer in classifier.named_modules()
        if isinstance(layer, (nn.Conv2d, nn.Linear))
    }


def without_smallest(values: NDArray[np.float32], amount: float) -> NDArray[np.float32]:
    """``values`` (N,) with the ``round(amount · N)`` of least magnitude at zero."""
    kept = values.copy()
    kept[np.argsort(np.abs(values), kind="stable")[: round(amount * len(values))]] = 0.0
    return kept


@pytest.mark.parametrize("amount", AMOUNTS)
def test_each_layer_loses_its_smallest_weights(classifier: Classifier, amount: float) -> None:
    before, after = weights(classifier), weights(prune(amount=amount, scope="layer").apply(classifier))
    assert len(before) == 5
    for name, values in before.items():
        expected = without_smallest(values.ravel(), amount).reshape(values.shape)
        np.testing.assert_array_equal(after[name], expected, err_msg=name)
        assert (after[name] == 0).mean() == pytest.approx(amount, abs=0.5 / values.size)


@pytest.mark.parametrize("amount", AMOUNTS)
def test_by_default_the_smallest_of_all_layers_go(classifier: Classifier, amount: float) -> None:
    before, after = weights(classifier), weights(prune(amount=amount).apply(classifier))
    joined = np.concatenate([values.ravel() for values in before.values()])
    expected = without_smallest(joined, amount)
    np.testing.assert_array_equal(np.concatenate([values.ravel() for values in after.values()]), expected)
    shares = [float((values == 0).mean()) for values in after.values()]
    assert max(shares) - min(shares) > 0.05  # the layers differ, which is the point of it


def test_all_else_stays_and_so_does_the_given_model(classifier: Classifier) -> None:
    before = {name: tensor.clone() for name, tensor in classifier.state_dict().items()}
    pruned = prune(amount=0.5).apply(classifier)
    assert {name: tensor.tolist() for name, tensor in classifier.state_dict().items()} == {
        name: tensor.tolist() for name, tensor in before.items()
    }
    assert set(pruned.state_dict()) == set(before)  # the same file format: no masks are left
    touched = {f"{name}.weight" for name in weights(classifier)}
    for name, tensor in pruned.state_dict().items():
        assert torch.equal(tensor, before[name]) == (name not in touched), name
    assert not pruned.training


@pytest.mark.parametrize("amount", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_lies_between_nothing_and_everything(amount: float) -> None:
    with pytest.raises(ValueError, match="amount"):
        prune(amount=amount)
