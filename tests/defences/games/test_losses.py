"""What the nets of a federation's devices go down: against closed forms, and by numerical gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from leakrange.defences.games import (
    Batch,
    Game,
    GaussianGame,
    InformationGame,
    Sizes,
    TaskGame,
    gaussian_information,
    mutual_information,
)
from leakrange.wire.samples import SampleSpec

ROWS, WIDE = 9, 3
SIZES = Sizes(SampleSpec(encoding="vector", shape=(4,), dtype="float32"), WIDE, 2, (3, 2))


@pytest.fixture
def batch() -> Batch:
    drawn = np.random.default_rng(0)
    samples, others = (torch.from_numpy(drawn.normal(size=(ROWS, 4))) for _ in range(2))
    private = torch.tensor([0, 1] * 4 + [0])
    useful = torch.from_numpy(np.stack([drawn.integers(0, count, ROWS) for count in SIZES.useful], axis=1))
    return Batch(samples, private, useful, others)


@pytest.fixture
def features() -> Tensor:
    return torch.from_numpy(np.random.default_rng(1).normal(size=(ROWS, WIDE))).requires_grad_()


def terms(game: Game, features: Tensor, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
    inferring = game.inferring(features, batch)
    return inferring, game.keeping(features, batch), game.revealing(features, batch, inferring)


@pytest.mark.parametrize(
    "made", [InformationGame, TaskGame, GaussianGame], ids=["information", "task", "gaussian"]
)
def test_gradients_of_all_terms_are_what_differences_say(made: Any, batch: Batch, features: Tensor) -> None:
    torch.manual_seed(0)
    game = made(SIZES, 0.5, "small").double()
    assert torch.autograd.gradcheck(lambda given: terms(game, given, batch), (features,))


def test_the_estimate_by_a_critic_has_the_gradients_of_its_formula() -> None:
    drawn = np.random.default_rng(2)
    joint, apart = (torch.from_numpy(drawn.normal(size=7)).requires_grad_() for _ in range(2))
    assert torch.autograd.gradcheck(mutual_information, (joint, apart))
    found = float(mutual_information(joint, apart).detach())
    scores = joint.detach().numpy(), apart.detach().numpy()
    assert found == pytest.approx(-np.log1p(np.exp(-scores[0])).mean() - np.log1p(np.exp(scores[1])).mean())


def test_an_adversary_and_what_is_against_it_differ_in_sign(batch: Batch, features: Tensor) -> None:
    torch.manual_seed(0)
    game = InformationGame(SIZES, 0.5, "small").double()
    features = features.detach()
    with torch.no_grad():
        inferring, _, revealing = terms(game, features, batch)
    wanted = cross_entropy(game.adversary(features), batch.private).detach()
    assert float(inferring) == pytest.approx(float(wanted))
    assert float(revealing) == -float(inferring)


def test_a_task_keeps_every_useful_attribute(batch: Batch, features: Tensor) -> None:
    torch.manual_seed(0)
    game = TaskGame(SIZES, 0.5, "small").double()
    features = features.detach()
    each = [cross_entropy(head(features), batch.useful[:, i]) for i, head in enumerate(game.heads)]
    assert len(each) == 2
    assert float(game.keeping(features, batch).detach()) == pytest.approx(
        sum(float(one.detach()) for one in each)
    )


@pytest.mark.parametrize("share", [0.5, 0.2])
def test_the_gaussian_estimate_is_the_closed_form_where_features_are_gaussian(share: float) -> None:
    # two classes of equal mean: var(r) is their mixture's, and p(u) says which variance counts how much
    drawn = np.random.default_rng(0)
    private = (np.arange(200_000) < share * 200_000).astype(np.int64)
    deviations = np.where(private[:, None] == 1, [3.0, 1.0], [1.0, 1.0])
    features = torch.from_numpy(drawn.normal(size=(len(private), 2)) * deviations)
    mixture = share * 9.0 + (1 - share)
    wanted = 0.5 * (np.log(mixture) - share * np.log(9.0))
    found = float(gaussian_information(features, torch.from_numpy(private), 2, floor=0.0))
    assert found == pytest.approx(wanted, abs=0.01)


def test_the_gaussian_estimate_sees_classes_of_different_means_and_counts_constants_nothing() -> None:
    drawn = np.random.default_rng(0)
    private = np.repeat([0, 1, 2], 50_000)
    features = drawn.normal(size=(len(private), 2)) * [1.0, 0.0]
    features[:, 0] += 2.0 * private
    wanted = 0.5 * np.log(1.0 + 4.0 * 2.0 / 3.0)
    found = gaussian_information(torch.from_numpy(features), torch.from_numpy(private), 3, floor=1e-3)
    assert float(found) == pytest.approx(wanted, abs=0.01)


def test_the_gaussian_estimate_of_a_small_batch_has_the_variances_of_maximum_likelihood() -> None:
    features = np.array([[1.0, 4.0], [3.0, -2.0], [0.0, 1.0], [7.0, 2.5], [-1.0, 9.0]])
    private = np.array([0, 0, 1, 1, 1])
    at_large, one, other = (np.log(part.var(axis=0)).sum() for part in (features, features[:2], features[2:]))
    wanted = 0.5 * (at_large - 0.4 * one - 0.6 * other)
    found = gaussian_information(torch.from_numpy(features), torch.from_numpy(private), 2, floor=0.0)
    assert float(found) == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(
    "private", [[0, 0, 0], [0, 0, 1], [0, 1, 2]], ids=["one class", "a single", "singles"]
)
def test_the_gaussian_estimate_is_zero_without_two_classes_of_two(private: list[int]) -> None:
    features = torch.tensor([[1.0], [2.0], [9.0]], requires_grad=True)
    found = gaussian_information(features, torch.tensor(private), 3)
    found.backward()
    assert float(found.detach()) == 0.0
    assert features.grad is not None
    assert not features.grad.any()
