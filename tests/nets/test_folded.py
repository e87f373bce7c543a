from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from leakrange.nets import nets
from leakrange.nets.dropout import Dropout
from leakrange.nets.folded import folded
from leakrange.providers.inference import outputs
from leakrange.wire.samples import SampleSpec

SPECS = {
    "picture": SampleSpec.picture(32, 32, 3),
    "series": SampleSpec(encoding="series", shape=(32, 20), dtype="float32"),
    "table": SampleSpec(
        encoding="table", shape=(6,), dtype="float32", columns=tuple(f"c{place}" for place in range(6))
    ),
    "vector": SampleSpec(encoding="vector", shape=(9,), dtype="float32"),
}


def spec_for(name: str) -> SampleSpec:
    net = nets[name]
    spec = SPECS[net.encodings[0] if net.encodings else "vector"]
    return spec if net.misfit(spec) is None else spec.resized(net.smallest)


@pytest.mark.parametrize("name", sorted(nets))
def test_a_folded_net_gives_the_same_outputs_to_rounding(name: str) -> None:
    torch.manual_seed(1)
    spec = spec_for(name)
    net = nets[name].build(spec, 3, 1.0 if name == "linear" else 0.25).eval()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):  # as after a training
            assert module.running_mean is not None
            assert module.running_var is not None
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2.0)
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    draw = np.random.default_rng(0)
    samples = (255 * draw.random((4, *spec.shape))).astype(spec.dtype)
    short = folded(net)
    for kind in ("logits", "features"):
        expected, found = outputs(net, samples, kind), outputs(short, samples, kind)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


def test_nothing_idle_is_left_of_the_paper_s_net() -> None:
    layers = list(folded(nets["hbc"].build(SampleSpec.picture(64, 64, 3), 2)).modules())
    assert not any(isinstance(layer, nn.BatchNorm2d | Dropout) for layer in layers)
    assert sum(isinstance(layer, nn.Conv2d) for layer in layers) == 4
