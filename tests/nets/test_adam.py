import subprocess
import sys

import pytest
import torch

from leakrange.nets.adam import Adam
from leakrange.nets.decoder import AttackNet


@pytest.mark.parametrize("weight_decay", [0.0, 1e-2])
def test_it_moves_a_net_as_torchs_own_does(weight_decay: float) -> None:
    def fitted(ours: bool) -> AttackNet:
        torch.manual_seed(0)
        net = AttackNet(4, 3)
        made = Adam if ours else torch.optim.Adam
        optimiser = made(net.parameters(), lr=1e-2, weight_decay=weight_decay)
        for _ in range(30):
            optimiser.zero_grad()
            torch.nn.functional.cross_entropy(net(torch.randn(20, 4)), torch.randint(0, 3, (20,))).backward()
            optimiser.step()
        return net

    for one, two in zip(fitted(True).parameters(), fitted(False).parameters(), strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6)


def test_a_parameter_without_a_gradient_stays() -> None:
    used, unused = torch.nn.Parameter(torch.ones(2)), torch.nn.Parameter(torch.ones(2))
    optimiser = Adam([used, unused], lr=0.1)
    used.sum().backward()
    optimiser.step()
    assert used.tolist() == pytest.approx([0.9, 0.9])
    assert unused.tolist() == [1.0, 1.0]
    optimiser.zero_grad()
    assert used.grad is None


def test_training_does_not_load_torchs_compiler() -> None:
    code = """
import sys
from tests.providers.conftest import CASES, recipe
from tests.providers.pictures import patches
from leakrange.providers.training import train
from services.attacker.train import preload
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
