"""Training by DP-SGD: gradients by hand, the ledger by another accountant, and a ledger that lies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch import Tensor
from torch.nn.functional import cross_entropy

from leakrange.data.samples import Samples
from leakrange.federation.accounting import epsilon
from leakrange.jobs.recipe import OptimiserSpec, Schedule
from leakrange.metrics.one_run import Canaries
from leakrange.nets import nets
from leakrange.nets.dropout import Dropout
from leakrange.providers.artifact import load, save
from leakrange.providers.behaviours import behaviours
from leakrange.providers.behaviours.private import Private
from leakrange.providers.loop import Lessons, Trainer
from leakrange.providers.training import train
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec
from tests.providers.conftest import recipe

PICTURE = SampleSpec.picture(8, 8, 1)


def trainee(
    spec: SampleSpec, schedule: Schedule, count: int, net: str = "conv-2d-groups", **parameters: Any
) -> Private:
    torch.manual_seed(0)
    chosen = Private.Parameters.model_validate({"target": "y", "noise": 1.0, **parameters})
    private = Private(chosen, nets[net].build(spec, 3, 1.0), 0, schedule)
    private.study(Lessons(torch.zeros(count, *spec.shape), torch.zeros(count, dtype=torch.int64)))
    return private


def clipped_sum(private: Private, x: Tensor, y: Tensor, clip: float) -> Tensor:
    """The sum of clipped gradients, sample by sample, of a net like its own."""
    net = nets["conv-2d-groups"].build(PICTURE, 3, 1.0).eval()
    net.load_state_dict(private.classifier.state_dict())
    total = torch.zeros(net.parameter_count())
    for sample, label in zip(x, y, strict=True):
        loss = cross_entropy(net(sample[None]), label[None])
        gradient = torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(net.parameters()))])
        total += gradient * min(1.0, clip / float(gradient.norm()))
    return total


def test_a_step_is_the_sum_of_clipped_gradients_and_noise() -> None:
    private = trainee(PICTURE, Schedule(batch=10, channels_last=False), 30, clip=0.3)
    for layer in private.classifier.modules():
        if isinstance(layer, Dropout):
            layer.p = 0.0
    x, y = torch.randn(7, 1, 8, 8), torch.tensor([0, 1, 2, 0, 1, 2, 1])
    x[0] *= 0.01  # of a small gradient, which is not clipped
    wanted = clipped_sum(private, x, y, 0.3) / 10
    private.optimiser.lr = 0.0

    def gradient(count: int) -> Tensor:
        torch.manual_seed(5)  # the same noise
        private.step(x[:count], y[:count], None)
        assert all(each.grad is not None for each in private.learning)
        return torch.cat([each.grad.flatten() for each in private.learning if each.grad is not None])

    noise = gradient(0)  # a batch that drew nothing moves all the same
    torch.testing.assert_close(gradient(7) - noise, wanted, rtol=1e-3, atol=1e-5)
    assert float(noise.std()) == pytest.approx(0.3 * 1.0 / 10, rel=0.03)


def test_batches_take_each_sample_by_itself() -> None:
    lessons = Lessons(torch.zeros(200, 1), torch.zeros(200, dtype=torch.int64))
    private = trainee(PICTURE, Schedule(batch=20), 200)
    generator = torch.Generator().manual_seed(1)
    trainer = Trainer(private, lessons, batch=20, generator=generator, poisson=True)
    epochs = [trainer.batches() for _ in range(40)]
    assert {len(epoch) for epoch in epochs} == {10}
    sizes = np.array([len(batch) for epoch in epochs for batch in epoch])
    assert sizes.mean() == pytest.approx(20, abs=0.8)
    assert sizes.std() == pytest.approx(np.sqrt(200 * 0.1 * 0.9), rel=0.12)
    often = np.bincount(torch.cat([batch for epoch in epochs for batch in epoch]).numpy(), minlength=200)
    assert often.std() == pytest.approx(np.sqrt(400 * 0.1 * 0.9), rel=0.2)
    assert all(len(set(batch.tolist())) == len(batch) for batch in epochs[0])


@pytest.mark.parametrize("promise", [{"epsilon": 3.0, "noise": None}, {"noise": 1.3}], ids=str)
def test_the_ledger_is_that_of_another_accountant(promise: dict[str, Any]) -> None:
    ledger = trainee(PICTURE, Schedule(epochs=5, batch=50), 1000, **promise).ledger
    assert ledger is not None
    assert (ledger.rate, ledger.steps, ledger.delta, ledger.clip) == (0.05, 100, 1e-5, 1.0)
    assert ledger.epsilon == pytest.approx(epsilon("gaussian", ledger.noise, 100, 0.05), rel=0.01)
    if "epsilon" in promise:
        assert 2.97 <= ledger.epsilon <= 3.0
    else:
        assert ledger.noise == 1.3


@pytest.mark.parametrize(
    ("schedule", "net", "parameters", "reason"),
    [
        ({}, "conv-2d", {}, "conv-2d-groups"),
        ({"augment": True}, "linear", {}, "'varied'"),
        ({"bf16": True}, "linear", {}, "bf16"),
        ({}, "linear", {"delta": 2e-3}, "one of 1000 samples"),
        ({}, "linear", {"epsilon": 1e-3, "noise": None}, "larger epsilon"),
    ],
    ids=str,
)
def test_what_keeps_no_promise_is_refused(
    schedule: dict[str, Any], net: str, parameters: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        trainee(PICTURE, Schedule.model_validate({"batch": 50, **schedule}), 1000, net, **parameters)
    assert reason in f"{refused.value.detail} {refused.value.hint}"


@pytest.mark.parametrize("given", [{}, {"epsilon": 1.0, "noise": 1.0}, {"noise": float("nan")}], ids=str)
def test_a_promise_is_one_of_two(given: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        behaviours["honest/private"].Parameters.model_validate({"target": "y", **given})


def test_nets_say_whether_they_take_samples_apart() -> None:
    apart = []
    for name, entry in nets.items():
        spec = SampleSpec(encoding="series", shape=(32, 9), dtype="float32")
        if entry.misfit(spec):
            spec = SampleSpec.picture(160, 160, 3)
        net = entry.build(spec, 3, 1.0 if name == "linear" else 0.1)
        norms = [layer for layer in net.modules() if "BatchNorm" in type(layer).__name__]
        assert entry.samples_apart == (not norms), name
        apart += [name] if entry.samples_apart else []
    assert set(apart) == {"conv-2d-groups", "linear", "tappfl-conv", "tappfl-mlp", "tappfl-small"}


def test_the_ledger_is_in_the_file_that_users_get_and_in_the_record(tmp_path: Path, images: Samples) -> None:
    named = recipe("honest/private", {"target": "hat", "epsilon": 20.0, "delta": 1e-4}, epochs=2)
    trained = train(named, images)
    assert trained.ledger is not None
    loaded = load(save(tmp_path, trained))
    assert loaded.config.privacy == trained.ledger
    assert loaded.record["privacy"] == trained.ledger.model_dump()
    again = train(named, images)
    torch.testing.assert_close(again.classifier.state_dict(), trained.classifier.state_dict())


class Careless(Private):
    """It writes the ledger of twice the noise that it adds."""

    def _clip_and_noise(self, noise: float) -> None:
        super()._clip_and_noise(noise / 2)


@pytest.mark.parametrize(("provider", "holds"), [(Private, 1.0), (Careless, 0.0)])
def test_a_ledger_of_twice_the_noise_is_found_out(provider: type[Private], holds: float) -> None:
    """Each canary has a column of the net to itself: its weight shows whether it was in the training."""
    count = 4000
    coins = np.random.default_rng(3).random(count) < 0.5
    members = int(coins.sum())
    spec = SampleSpec(encoding="vector", shape=(count,), dtype="float32")
    lessons = Lessons(10.0 * torch.eye(count)[torch.from_numpy(coins)], torch.arange(count)[coins] % 2)
    schedule = Schedule(epochs=1, batch=members, lr=1.0, optimiser=OptimiserSpec(name="sgd"))
    parameters = Private.Parameters.model_validate({"target": "y", "noise": 1.0, "clip": 0.1})
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = nets["linear"].build(spec, 2)
        torch.nn.init.zeros_(net.head.weight)  # type: ignore[arg-type]
        private = provider(parameters, net, 0, schedule)
        private.study(lessons)
        Trainer(private, lessons, batch=members, poisson=True).epoch()
    weight = net.head.weight.detach().numpy()  # type: ignore[union-attr]
    scores = (weight[1] - weight[0]) * np.where(np.arange(count) % 2, 1, -1)
    assert private.ledger is not None
    assert private.ledger.rate == 1.0
    judged = Canaries(scores, coins, private.ledger.epsilon, private.ledger.delta)
    assert judged.epsilon is not None
    assert judged.epsilon > 1.0
    assert judged.holds == holds
