import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from leakrange.jobs.recipe import OptimiserSpec, Schedule
from leakrange.nets.decoder import AttackNet
from leakrange.nets.optimisers import Optimiser, optimiser

SPECS = [
    {"name": "adam"},
    {"name": "adam", "weight_decay": 1e-2},
    {"name": "adamw", "weight_decay": 1e-2},
    {"name": "sgd"},
    {"name": "sgd", "momentum": 0.9},
    {"name": "sgd", "momentum": 0.9, "weight_decay": 1e-2},
]


def schedule(**said: object) -> Schedule:
    return Schedule.model_validate({"lr": 1e-2, "optimiser": said})


def fitted(make: Callable[[nn.Module], Optimiser | torch.optim.Optimizer]) -> AttackNet:
    torch.manual_seed(0)
    net = AttackNet(4, 3)
    moving = make(net)
    for _ in range(30):
        moving.zero_grad()
        torch.nn.functional.cross_entropy(net(torch.randn(20, 4)), torch.randint(0, 3, (20,))).backward()
        moving.step()
    return net


@pytest.mark.parametrize("said", SPECS, ids=str)
def test_a_schedule_moves_a_net_bit_by_bit_as_torchs_objects_do(said: dict[str, object]) -> None:
    settings = {name: value for name, value in said.items() if name != "name"}
    theirs = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[str(said["name"])]
    ours = fitted(lambda net: optimiser(net.parameters(), schedule(**said)))
    torchs = fitted(lambda net: theirs(net.parameters(), lr=1e-2, **settings))  # type: ignore[arg-type]
    for one, two in zip(ours.parameters(), torchs.parameters(), strict=True):
        assert torch.equal(one, two)


@pytest.mark.parametrize("said", SPECS, ids=str)
def test_a_parameter_without_a_gradient_stays(said: dict[str, object]) -> None:
    used, unused = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    moving = optimiser([unused, used], schedule(**said))
    loss = moving.descend(used.sum())
    assert (float(loss), loss.requires_grad) == (2.0, False)
    assert (used < 1.0).all()
    assert unused.tolist() == [1.0, 1.0]
    moving.zero_grad()
    assert used.grad is None


def test_a_cosine_takes_the_learning_rate_down_as_torchs_does() -> None:
    moving = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=0.2)
    theirs = torch.optim.lr_scheduler.CosineAnnealingLR(moving, T_max=7)
    ours = Schedule(epochs=7, lr=0.2, decay="cosine")
    for epoch in range(7):
        assert 0.2 * ours.share(epoch) == pytest.approx(theirs.get_last_lr()[0], rel=1e-12)
        moving.step()
        theirs.step()
    assert {Schedule(epochs=7).share(epoch) for epoch in range(7)} == {1.0}


def test_momentum_is_a_setting_of_sgd_alone() -> None:
    with pytest.raises(ValidationError, match="momentum is a setting of sgd"):
        OptimiserSpec(momentum=0.9)
    with pytest.raises(ValidationError, match="name"):
        OptimiserSpec.model_validate({"name": "lion"})
    plain, other = Schedule(), Schedule(optimiser=OptimiserSpec(name="sgd", momentum=0.9))
    assert Schedule.model_validate_json(other.model_dump_json()) == other != plain


def test_training_does_not_load_torchs_compiler() -> None:
    code = """
import sys
from tests.providers.conftest import CASES, recipe
from tests.providers.pictures import patches
from leakrange.providers.training import train
from leakrange.services.attacker.trainer import preload
preload()
import numpy as np
from leakrange.attacks import Evidence, attacks
train(recipe(*CASES["raw"]), patches(count=200))
zeros = np.zeros((20, 2), np.float32)
attack = attacks["attribute-inference"]
parameters = attack.Parameters(sensitive="s", epochs=1)
attack(parameters).infer(Evidence(zeros, np.arange(20) % 2, zeros, 2, "logits"))
sys.exit("torch._dynamo" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
