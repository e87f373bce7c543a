import math

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from leakrange.providers.losses import (
    convex_loss,
    entropy,
    entropy_levels_loss,
    parameterized_loss,
    regularized_loss,
    target_loss,
)

TARGET, SENSITIVE = torch.tensor([0, 1, 1, 0]), torch.tensor([0, 0, 1, 1])


def soft(rows: list[list[float]]) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


def test_entropy_is_in_nats() -> None:
    assert entropy(soft([[0.5, 0.5], [1.0, 0.0], [0.95, 0.05]])).tolist() == pytest.approx(
        [math.log(2), 0.0, 0.198515], abs=1e-6
    )


def test_eq_3_worked_by_hand() -> None:
    p = soft([[0.9, 0.1], [0.2, 0.8], [0.4, 0.6], [0.6, 0.4]])

    def h(q: float) -> float:
        return -q * math.log(q) - (1 - q) * math.log(1 - q)

    crossed = -(math.log(0.9) + math.log(0.8) + 2 * math.log(0.6)) / 4
    curious = (h(0.9) + h(0.8)) / 2 - h(0.6)
    loss = regularized_loss(p, TARGET, SENSITIVE, beta_y=0.7, beta_s=0.3)
    assert float(loss) == pytest.approx(0.7 * crossed + 0.3 * curious)


def test_a_class_that_the_batch_lacks_adds_nothing() -> None:
    p = soft([[0.9, 0.1], [0.2, 0.8]]).requires_grad_()
    loss = regularized_loss(p, torch.tensor([0, 1]), torch.tensor([0, 0]), beta_y=0.0, beta_s=1.0)
    loss.backward()
    assert loss.item() == pytest.approx(entropy(p).mean().item())
    assert p.grad is not None
    assert torch.isfinite(p.grad).all()


def test_each_class_pulls_alike_however_rare_it_is() -> None:
    common, rare = [0.9, 0.1], [0.6, 0.4]
    p = soft([common] * 9 + [rare])
    s = torch.tensor([0] * 9 + [1])
    loss = regularized_loss(p, torch.zeros(10, dtype=torch.long), s, beta_y=0.0, beta_s=1.0)
    assert float(loss) == pytest.approx(float(entropy(soft([common])) - entropy(soft([rare]))))


def test_levels_of_entropy_worked_by_hand() -> None:
    p = soft([[0.9, 0.1], [0.2, 0.8], [0.5, 0.5]])
    hidden = torch.tensor([2, 1, 0])

    def h(q: float) -> float:
        return -q * math.log2(q) - (1 - q) * math.log2(1 - q)

    away = ((h(0.9) - 0.9) ** 2 + (h(0.8) - 0.45) ** 2 + 1.0) / 3
    crossed = -(math.log(0.9) + math.log(0.8) + math.log(0.5)) / 3
    loss = entropy_levels_loss(p, torch.tensor([0, 1, 1]), hidden, classes=3, beta_y=0.7, beta_s=0.3)
    assert float(loss) == pytest.approx(0.7 * crossed + 0.3 * 4 * away)


def test_levels_of_entropy_have_the_gradient_of_the_function() -> None:
    hidden, target = torch.tensor([2, 1, 0]), torch.tensor([0, 2, 1])
    logits = torch.randn(
        3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)
    ).requires_grad_()

    def loss(z: torch.Tensor) -> torch.Tensor:
        return entropy_levels_loss(z.softmax(1), target, hidden, classes=3, beta_y=0.4, beta_s=0.6)

    assert gradcheck(loss, logits)


def test_eq_10_is_the_weighted_sum_of_its_three_parts() -> None:
    torch.manual_seed(0)
    logits = torch.randn(4, 2, dtype=torch.float64)
    inferred = torch.randn(4, 3, dtype=torch.float64)
    p = logits.softmax(1)
    expected_y = -p.log()[range(4), TARGET].mean()
    expected_s = -inferred.log_softmax(1)[range(4), SENSITIVE].mean()
    expected_x = -(p * p.log()).sum(1).mean()
    for kind in ("logits", "softmax"):
        loss = parameterized_loss(
            logits, TARGET, inferred, SENSITIVE, kind=kind, beta_x=0.2, beta_y=0.5, beta_s=0.3
        )
        assert float(loss) == pytest.approx(float(0.2 * expected_x + 0.5 * expected_y + 0.3 * expected_s))


def test_soft_outputs_that_are_certain_and_wrong_have_a_finite_loss() -> None:
    p = torch.tensor([[1.0, 0.0]], requires_grad=True)
    loss = target_loss(p, torch.tensor([1]), "softmax")
    loss.backward()
    assert loss.item() == pytest.approx(-math.log(1e-16), rel=1e-5)
    assert p.grad is not None
    assert torch.isfinite(p.grad).all()


@pytest.mark.parametrize("kind", ["logits", "softmax"])
@pytest.mark.parametrize("beta_x", [0.0, 0.4])
def test_the_gradients_are_those_of_the_function(kind: str, beta_x: float) -> None:
    torch.manual_seed(0)
    logits = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    inferred = torch.randn(4, 2, dtype=torch.float64, requires_grad=True)

    def parameterized(z: torch.Tensor, g: torch.Tensor) -> torch.Tensor:
        betas = {"beta_x": beta_x, "beta_y": 0.5, "beta_s": 0.3}
        return parameterized_loss(z, TARGET, g, SENSITIVE, kind=kind, **betas)  # type: ignore[arg-type]

    def regularized(z: torch.Tensor) -> torch.Tensor:
        return regularized_loss(z.softmax(1), TARGET, SENSITIVE, beta_y=0.7, beta_s=0.3)

    assert gradcheck(parameterized, (logits, inferred))

    def convex(z: torch.Tensor) -> torch.Tensor:
        return convex_loss(z, TARGET, SENSITIVE, beta_y=0.7, beta_s=0.3)

    assert gradcheck(regularized, (logits,))
    assert gradcheck(convex, (logits,))
    assert gradgradcheck(convex, (logits,))


def test_eq_12_is_the_cross_entropy_with_the_mixed_label() -> None:
    torch.manual_seed(0)
    logits = torch.randn(4, 2, dtype=torch.float64)
    mixed = 0.7 * TARGET + 0.3 * SENSITIVE
    y_hat = logits.softmax(1)[:, 1]
    by_hand = -(mixed * y_hat.log() + (1 - mixed) * (1 - y_hat).log()).mean()
    loss = convex_loss(logits, TARGET, SENSITIVE, beta_y=0.7, beta_s=0.3)
    assert float(loss) == pytest.approx(float(by_hand))


def test_eq_12_is_convex_in_the_weights_of_a_logistic_regression() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 3, dtype=torch.float64)

    def of_weights(w: torch.Tensor) -> torch.Tensor:
        logits = torch.stack([torch.zeros(4, dtype=torch.float64), x @ w], dim=1)
        return convex_loss(logits, TARGET, SENSITIVE, beta_y=0.6, beta_s=0.4)

    for _ in range(10):
        curvature = torch.autograd.functional.hessian(of_weights, 5 * torch.randn(3, dtype=torch.float64))
        assert float(torch.linalg.eigvalsh(curvature).min()) > -1e-12
