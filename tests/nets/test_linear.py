import numpy as np
import pytest
import torch

from leakrange.nets import nets
from leakrange.nets.classifier import to_input
from leakrange.wire.samples import SampleSpec


@pytest.mark.parametrize("shape", [(1, 1, 2), (8, 5, 1), (16, 16, 3)])
def test_logits_are_a_linear_map_of_the_scaled_pixels(shape: tuple[int, int, int]) -> None:
    net = nets["linear"].build(SampleSpec.picture(*shape), 3)
    pixels = int(np.prod(shape))
    assert net.parameter_count() == 3 * (pixels + 1)
    images = torch.randint(0, 256, (4, *shape), dtype=torch.uint8)
    x = to_input(images, net.spec)
    assert net.feature_count == pixels
    torch.testing.assert_close(net.features(x), x.reshape(4, pixels))
    weight, bias = net.head.weight, net.head.bias
    torch.testing.assert_close(net(x), x.reshape(4, pixels) @ weight.T + bias)  # type: ignore[operator]


def test_two_classes_are_logistic_regression() -> None:
    torch.manual_seed(0)
    net = nets["linear"].build(SampleSpec.picture(1, 1, 2), 2)
    x = torch.randn(5, 2, 1, 1)
    w = net.head.weight[1] - net.head.weight[0]  # type: ignore[index]
    b = net.head.bias[1] - net.head.bias[0]  # type: ignore[index]
    torch.testing.assert_close(net(x).softmax(dim=1)[:, 1], torch.sigmoid(x.reshape(5, 2) @ w + b))


def test_there_is_nothing_to_scale() -> None:
    with pytest.raises(ValueError, match=r"width is 1, not 0\.5"):
        nets["linear"].build(SampleSpec.picture(1, 1, 2), 2, width=0.5)
