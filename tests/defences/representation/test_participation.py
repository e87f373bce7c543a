"""Algorithm 1 of TAPPFL: all devices train in every round, side by side, each as it would alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy, softplus

from leakrange.data import Samples
from leakrange.data.splits import shuffled, stream
from leakrange.defences.extractor_training import finished
from leakrange.defences.federated import FederatedDevices, load_arrays
from leakrange.defences.games import InformationGame
from leakrange.defences.representation import representation_defences
from leakrange.federation.in_process import States, one_round
from leakrange.federation.rounds import Rounds
from leakrange.federation.updates import Arrays, fedavg
from tests.defences.representation.conftest import FEDERATION, recipe_of

UNEQUAL = {**FEDERATION, "devices": 5, "local_epochs": 1, "split": {"alpha": 0.7, "by": "y"}}
"""Devices with different numbers of samples, and so of batches."""


def near(one: Arrays, other: Arrays) -> bool:
    return set(one) == set(other) and all(np.allclose(one[name], other[name], atol=2e-5) for name in one)


@pytest.mark.parametrize("name", sorted(representation_defences))
def test_devices_train_side_by_side_as_each_would_alone(name: str, points: Samples) -> None:
    devices = FederatedDevices(recipe_of(name, federation=UNEQUAL), points)
    assert len({len(part) for part in devices.parts}) > 2
    shared = devices.initial()
    states: Mapping[int, Arrays | None] = dict.fromkeys(range(5))
    first = devices.train(shared, states, 0)
    # in the next round each goes on from what it has kept
    states = {device: first[device][1] for device in (3, 0, 4)}
    together = devices.train(shared, states, 4)
    for device, state in states.items():
        update, kept = devices.train(shared, {device: state}, 4)[device]
        assert (update.device, update.samples) == (device, len(devices.parts[device]))
        assert update.figures == pytest.approx(together[device][0].figures, abs=1e-5)
        assert near(update.shared, together[device][0].shared)
        assert near(kept, together[device][1])
        assert not near(kept, first[device][1])


@pytest.mark.parametrize(("number", "against"), [(0, 0.0), (1, 0.8)], ids=["pretraining", "hiding"])
def test_a_device_takes_the_steps_of_algorithm_1(points: Samples, number: int, against: float) -> None:
    """Lines 8 to 21, net by net, with the modules themselves and an optimiser of torch."""
    devices = FederatedDevices(
        recipe_of("tappfl", federation={**UNEQUAL, "local_epochs": 2}, strength=0.8), points
    )
    update, kept = devices.train(devices.initial(), {2: None}, number)[2]
    load_arrays(devices.extractor, devices.initial())
    load_arrays(devices.game, devices._fresh(2))
    extractor, game = devices.extractor, devices.game
    assert isinstance(game, InformationGame)
    own, draw = devices.part(devices.parts[2]), stream(devices.recipe.seed, f"device 2 in round {number}")
    nets = [torch.optim.SGD(net.parameters(), lr=0.1) for net in (extractor, game.adversary, game.critic)]
    for _ in range(2):
        order, others = (torch.from_numpy(shuffled(draw, len(own))) for _ in range(2))
        for chosen, apart in zip(torch.split(order, 10), torch.split(others, 10), strict=True):
            features, u = extractor(own.samples[chosen]), own.private[chosen]
            inferred = cross_entropy(game.adversary(features), u)
            joint = game.critic(own.samples[chosen], features, u)
            random = game.critic(own.samples[apart], features, u)
            jsd = softplus(-joint).mean() + softplus(random).mean()
            losses = [(1 - against) * jsd - against * inferred, inferred, jsd]
            grads = [
                torch.autograd.grad(loss, net.param_groups[0]["params"], retain_graph=True)
                for loss, net in zip(losses, nets, strict=True)
            ]
            for net, grad in zip(nets, grads, strict=True):
                for value, slope in zip(net.param_groups[0]["params"], grad, strict=True):
                    value.grad = slope
                net.step()
    assert near(update.shared, {name: value.numpy() for name, value in extractor.state_dict().items()})
    assert near(kept, {name: value.numpy() for name, value in game.state_dict().items()})


@pytest.mark.parametrize("participation", ["all", "chosen"])
def test_all_devices_train_and_the_chosen_ones_are_averaged(participation: str, points: Samples) -> None:
    federation = {
        **FEDERATION,
        "devices": 6,
        "share": 0.34,
        "local_epochs": 1,
        "participation": participation,
    }
    devices = FederatedDevices(recipe_of("tappfl", federation=federation), points)
    rounds, states = Rounds(devices.federation, devices.initial(), devices.recipe.seed), States()
    chosen = rounds.chosen()
    assert len(chosen) == 2
    entry = one_round(rounds, devices, states)
    alone = devices.train(devices.initial(), dict.fromkeys(chosen), 0)
    wanted = fedavg([update for update, _ in alone.values()])
    assert near(rounds.shared, wanted)
    assert entry["accepted"] == 2
    assert sorted(states) == (list(range(6)) if participation == "all" else chosen)
    before = dict(states)
    one_round(rounds, devices, states)
    moved = [device for device, state in before.items() if not near(state, states[device])]
    assert moved == (
        list(range(6)) if participation == "all" else sorted(set(rounds.chosen(1)) & set(before))
    )


def test_devices_adversaries_are_judged_on_test_samples(points: Samples) -> None:
    devices = FederatedDevices(recipe_of("tappfl", strength=0.0), points)
    rounds, states = Rounds(devices.federation, devices.initial(), devices.recipe.seed), States()
    for _ in range(2):
        one_round(rounds, devices, states)
    told = finished(devices, rounds, states, 0.0).figures["test"]
    rights = {split: by_hand(devices, rounds.shared, states, split) for split in ("train", "test")}
    counts = np.bincount(points.labels["s"][points.where("test")])
    assert told["samples"] == counts.sum()
    assert told["majority s"] == pytest.approx(counts.max() / counts.sum())
    assert told["adversary s"] == pytest.approx(rights["test"].mean(), abs=1e-6)
    assert told["adversary s"] != pytest.approx(rights["train"].mean(), abs=1e-3)


def by_hand(devices: FederatedDevices, shared: Arrays, states: States, split: str) -> NDArray[Any]:
    """The accuracy of each device's adversary on the samples of a split, layer by layer in NumPy."""
    where = devices.samples.where(split)
    part, truth = devices.part(where), devices.samples.labels["s"][where]
    found = []
    for state in states.values():
        values = part.samples.flatten(1).numpy()
        for arrays, prefix in ((shared, ""), (state, "adversary.")):
            layers = [
                name[: -len("weight")] for name in arrays if name.startswith(prefix) and "weight" in name
            ]
            for place, layer in enumerate(layers):
                values = values @ arrays[f"{layer}weight"].T + arrays[f"{layer}bias"]
                if not prefix or place < len(layers) - 1:
                    values = np.maximum(values, 0.0)
        found.append((values.argmax(axis=1) == truth).mean())
    return np.array(found)
