"""Bounds of how far a net moves two inputs apart, against pairs of inputs and hand-made weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from leakrange.nets import nets
from leakrange.nets.dropout import Dropout
from leakrange.nets.lipschitz import lipschitz_bound
from leakrange.wire.samples import SampleSpec


def perceptron() -> nn.Sequential:
    torch.manual_seed(3)
    return nn.Sequential(
        nn.Linear(6, 9),
        nn.ReLU(),
        Dropout(0.5),
        nn.Sequential(nn.Linear(9, 5), nn.Dropout(0.5)),
        nn.Linear(5, 2),
    ).eval()


def test_no_pair_of_inputs_is_moved_further_apart() -> None:
    net = perceptron()
    first = torch.randn(4000, 6) * 3
    second = first + torch.randn(4000, 6) * torch.rand(4000, 1)
    with torch.no_grad():
        moved = (net(first) - net(second)).norm(dim=1) / (first - second).norm(dim=1)
        soft = (net(first).softmax(1) - net(second).softmax(1)).norm(dim=1) / (first - second).norm(dim=1)
    assert float(moved.max()) <= lipschitz_bound(net)
    assert float(soft.max()) <= lipschitz_bound(net)
    assert float(moved.max()) > 0.2 * lipschitz_bound(net)


def test_of_one_layer_it_is_the_largest_singular_value_and_is_reached() -> None:
    layer = nn.Linear(7, 3)
    weights = layer.weight.detach().numpy().astype(np.float64)
    _, values, directions = np.linalg.svd(weights)
    assert lipschitz_bound(layer) == pytest.approx(values[0])
    assert np.linalg.norm(weights @ directions[0]) == pytest.approx(lipschitz_bound(layer))


def test_layers_multiply() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))
    with torch.no_grad():
        net[0].weight.copy_(torch.diag(torch.tensor([3.0, -0.5])))
        net[2].weight.copy_(torch.tensor([[0.0, 2.0], [1.0, 0.0]]))
    assert lipschitz_bound(net) == pytest.approx(6.0)


def test_heads_of_classifiers_have_one() -> None:
    spec = SampleSpec(encoding="vector", shape=(8,), dtype="float32")
    head = nets["mlp"].build(spec, 2, 0.25).head
    weights = next(layer.weight for layer in head if isinstance(layer, nn.Linear))
    assert lipschitz_bound(head) == pytest.approx(float(torch.linalg.svdvals(weights.detach())[0]), rel=1e-5)


def test_a_layer_of_which_nothing_is_known_is_refused() -> None:
    with pytest.raises(ValueError, match="BatchNorm1d"):
        lipschitz_bound(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
