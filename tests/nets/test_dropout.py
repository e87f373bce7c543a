import pytest
import torch

from leakrange.nets.dropout import Dropout


@pytest.mark.parametrize("p", [0.2, 0.25, 0.5])
def test_it_zeroes_that_share_and_keeps_the_mean(p: float) -> None:
    torch.manual_seed(0)
    y = Dropout(p)(torch.ones(400_000))
    assert float((y == 0).float().mean()) == pytest.approx(p, abs=0.004)
    assert y.unique().tolist() == pytest.approx([0.0, 1 / (1 - p)])
    assert float(y.mean()) == pytest.approx(1.0, abs=0.01)


def test_entries_are_dropped_independently_of_their_place_in_a_draw() -> None:
    torch.manual_seed(0)
    dropped = (Dropout(0.5)(torch.ones(400_000)) == 0).float().reshape(-1, 4)
    assert dropped.mean(dim=0).tolist() == pytest.approx([0.5] * 4, abs=0.01)
    correlations = torch.corrcoef(dropped.T) - torch.eye(4)
    assert float(correlations.abs().max()) < 0.02


@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 5, 7)])
def test_the_gradient_goes_where_the_values_went(shape: tuple[int, ...]) -> None:
    x = torch.randn(shape).requires_grad_()
    if len(shape) == 4:
        x = x.detach().to(memory_format=torch.channels_last).requires_grad_()
    y = Dropout(0.5)(x)
    y.sum().backward()
    assert x.grad is not None
    torch.testing.assert_close(y.detach(), x.detach() * x.grad)
    assert y.stride() == x.stride()


def test_the_generators_seed_decides_the_mask() -> None:
    masks = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        masks.append(Dropout(0.5)(torch.ones(100)))
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])


def test_in_eval_mode_it_does_nothing() -> None:
    x = torch.randn(10)
    assert Dropout(0.5).eval()(x) is x


@pytest.mark.parametrize("p", [0.2, 0.3])
def test_bfloat16_is_masked_as_float32_is(p: float) -> None:
    x = torch.randn(2, 3, 5, 7).to(memory_format=torch.channels_last)
    found = []
    for dtype in (torch.float32, torch.bfloat16):
        torch.manual_seed(3)
        found.append(Dropout(p)(x.to(dtype)))
    factor = torch.tensor(1 / (1 - p), dtype=torch.bfloat16)
    expected = x.bfloat16() * (found[0] != 0).bfloat16() * factor
    assert torch.equal(found[1], expected)
    assert found[1].stride() == x.stride()
    assert 0 < int((expected == 0).sum()) < x.numel()
