"""What holds for every defence whose extractor devices learn together."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.data import Samples
from leakrange.defences.federated import Devices
from leakrange.defences.representation import representation_defences
from leakrange.federation.in_process import States, one_round
from leakrange.federation.rounds import Rounds
from leakrange.federation.updates import Arrays
from tests.defences.representation.conftest import recipe_of


def after(name: str, points: Samples, rounds: int) -> tuple[Rounds, States, Devices]:
    recipe = recipe_of(name)
    devices = Devices(recipe, points)
    server, states = Rounds(devices.federation, devices.initial(), recipe.seed), States()
    for _ in range(rounds):
        one_round(server, devices, states)
    return server, states, devices


def same(one: Arrays, other: Arrays) -> bool:
    return set(one) == set(other) and all(np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("name", sorted(representation_defences))
def test_a_round_moves_every_parameter_and_every_net_that_a_device_keeps(name: str, points: Samples) -> None:
    server, states, devices = after(name, points, 2)
    assert server.left_out == []
    for place, (found, before) in enumerate(
        zip(server.shared.values(), devices.initial().values(), strict=True)
    ):
        assert (found != before).any(), (name, place)
        assert np.isfinite(found).all()
    for device, state in states.items():
        assert not same(state, devices._fresh(device))
    for entry in server.history:
        assert {"adversary_loss", "loss"} <= set(entry)


@pytest.mark.parametrize("name", sorted(representation_defences))
def test_the_same_seed_gives_the_same_extractor(name: str, points: Samples) -> None:
    first, states, devices = after(name, points, 2)
    second, again, _ = after(name, points, 2)
    assert same(first.shared, second.shared)
    assert all(same(states[device], again[device]) for device in states)
    # and a device goes on from what it kept
    device = next(iter(states))
    kept, _ = devices.train(first.shared, states[device], device, 2)
    fresh, _ = devices.train(first.shared, None, device, 2)
    assert not same(kept.shared, fresh.shared)
