"""WideResNet-28-k and the reconstructors."""

from __future__ import annotations

import pytest
import torch

from leakrange.nets import nets
from leakrange.nets.reconstructors import reconstructors
from leakrange.wire.samples import SampleSpec


def test_width_1_has_the_nine_million_parameters_of_the_paper() -> None:
    net = nets["wide-resnet"].build(SampleSpec.picture(32, 32, 3), 10)
    groups = ((16, 80), (80, 160), (160, 320))
    expected = 9 * 3 * 16 + 2 * 320 + 320 * 10 + 10  # first convolution, last batch norm, linear layer
    for before, after in groups:
        expected += 2 * before + 9 * before * after + 2 * after + 9 * after**2 + before * after
        expected += 3 * (2 * after + 9 * after**2 + 2 * after + 9 * after**2)
    assert net.parameter_count() == expected
    assert round(net.parameter_count() / 1e6) == 9


@pytest.mark.parametrize("name", reconstructors)
@pytest.mark.parametrize("shape", [(16, 24, 1), (32, 32, 3)])
def test_a_reconstructor_draws_pictures_of_its_spec(name: str, shape: tuple[int, int, int]) -> None:
    spec = SampleSpec.picture(*shape)
    net = reconstructors[name].build(spec, 7, 0.1)
    drawn = net(torch.randn(3, 7, generator=torch.Generator().manual_seed(0)))
    assert drawn.shape == (3, shape[2], shape[0], shape[1])
    assert float(drawn.detach().min()) >= 0.0
    assert float(drawn.detach().max()) <= 1.0
    drawn.sum().backward()
    assert all(p.grad is not None for p in net.parameters())


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (SampleSpec.picture(20, 32, 1), "16, 24, 32"),
        (SampleSpec(encoding="vector", shape=(9,), dtype="float32"), "makes picture, not vector"),
    ],
)
def test_samples_that_cannot_be_drawn_are_refused(spec: SampleSpec, said: str) -> None:
    for entry in reconstructors.values():
        with pytest.raises(ValueError, match=said):
            entry.build(spec, 4)


@pytest.mark.parametrize("side", [17, 28])
def test_the_small_net_takes_sides_that_eight_does_not_divide(side: int) -> None:
    net = nets["strided-conv"].build(SampleSpec.picture(side, side, 1), 4, 0.2)
    assert net(torch.randn(2, 1, side, side)).shape == (2, 4)
