"""The nets of face recognition."""

from __future__ import annotations

import pytest
import torch

from leakrange.nets import nets
from leakrange.wire.samples import SampleSpec


def test_the_papers_teacher_has_the_published_size() -> None:
    with torch.device("meta"):
        net = nets["inception-resnet-v1"].build(SampleSpec.picture(160, 160, 3), 8631)
    body = sum(p.numel() for p in net.body.parameters())
    assert body == 23_482_624  # as published, without the classes
    assert net.feature_count == 512
    assert sum(p.numel() for p in net.head.parameters()) == 8631 * 513


@pytest.mark.parametrize(
    ("name", "side", "width"),
    [("residual", 64, 0.25), ("residual", 32, 0.25), ("inception-resnet-v1", 96, 0.1)],
)
def test_features_are_an_embedding_under_one_linear_layer(name: str, side: int, width: float) -> None:
    torch.manual_seed(0)
    net = nets[name].build(SampleSpec.picture(side, side, 3), 7, width)
    x = torch.rand(4, 3, side, side) * 2 - 1
    net.train()(x).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net.eval()
    with torch.inference_mode():
        embedding = net.features(x)
        assert embedding.shape == (4, net.feature_count)
        assert (embedding < 0).any()  # no nonlinearity behind it
        torch.testing.assert_close(net(x), embedding @ net.head.weight.T + net.head.bias)


def test_sides_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="32, 48, 64"):
        nets["residual"].build(SampleSpec.picture(40, 40, 3), 2)
    # a scenario is told before anything is trained
    assert "32, 48, 64" in str(nets["residual"].misfit(SampleSpec.picture(40, 40, 3)))
    with pytest.raises(ValueError, match="80 pixels"):
        nets["inception-resnet-v1"].build(SampleSpec.picture(64, 64, 3), 2)
