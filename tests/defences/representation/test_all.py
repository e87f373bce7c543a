"""What holds for every defence whose extractor devices learn together."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from leakrange.data import Samples
from leakrange.defences.extractor_training import finished
from leakrange.defences.federated import FederatedDevices, load_arrays
from leakrange.defences.representation import representation_defences
from leakrange.federation.in_process import States, one_round
from leakrange.federation.rounds import Rounds
from leakrange.federation.updates import Arrays
from tests.defences.representation.conftest import DATA, FEDERATION, link_of, recipe_of


def after(name: str, points: Samples, rounds: int) -> tuple[Rounds, States, FederatedDevices]:
    recipe = recipe_of(name)
    devices = FederatedDevices(recipe, points)
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
    first, last = server.history
    updates = [each for each, _ in devices.train(devices.initial(), dict.fromkeys(states), 0).values()]
    chosen = [each for each in updates if each.device in server.chosen(0)]
    for figure in ("adversary_loss", "loss"):
        told = np.average(
            [each.figures[figure] for each in chosen], weights=[each.samples for each in chosen]
        )
        assert first[figure] == pytest.approx(told, rel=1e-4)
        assert last[figure] != first[figure]


def test_pretraining_rounds_do_not_hide_and_the_first_after_them_does(points: Samples) -> None:
    sent: dict[int, list[Arrays]] = {0: [], 1: []}
    for strength in (0.0, 0.9):
        devices = FederatedDevices(recipe_of("tappfl", strength=strength), points)
        assert devices.federation.pretraining == 1
        for number, shared in sent.items():
            update, _ = devices.train(devices.initial(), {2: None}, number)[2]
            shared.append(update.shared)
    assert same(*sent[0])
    assert not same(*sent[1])


def test_every_device_begins_with_nets_of_its_own(points: Samples) -> None:
    devices = FederatedDevices(recipe_of("tappfl"), points)
    assert same(devices._fresh(0), devices._fresh(0))
    assert not same(devices._fresh(0), devices._fresh(1))


def test_another_seed_deals_samples_to_other_devices(points: Samples) -> None:
    link = link_of("tappfl")
    first, again, other = (FederatedDevices(link.recipe(DATA, seed), points).parts for seed in (1, 1, 2))
    assert all(np.array_equal(*parts) for parts in zip(first, again, strict=True))
    assert not any(np.array_equal(*parts) for parts in zip(first, other, strict=True))


def test_a_device_tells_its_losses_as_means_over_its_samples(points: Samples) -> None:
    """In one batch of all of them, of which a larger one would have had room for more."""
    devices = FederatedDevices(
        recipe_of("tappfl", batch=4096, federation=FEDERATION | {"local_epochs": 1}), points
    )
    update, _ = devices.train(devices.initial(), {2: None}, 0)[2]
    load_arrays(devices.extractor, devices.initial())
    load_arrays(devices.game, devices._fresh(2))
    own = devices.part(devices.parts[2])
    with torch.no_grad():
        fresh = devices.game.adversary(devices.extractor(own.samples))
        loss = cross_entropy(fresh, own.private)
    assert update.figures["adversary_loss"] == pytest.approx(float(loss), rel=1e-4)


def test_adversaries_of_devices_are_judged_on_test_samples(points: Samples) -> None:
    server, states, devices = after("tappfl", points, 1)
    figures = finished(devices, server, states, 0.0).figures["test"]
    hidden = points.labels["s"][points.where("test")]
    assert figures["samples"] == len(hidden)
    assert figures["majority s"] == pytest.approx(np.bincount(hidden).max() / len(hidden))


@pytest.mark.parametrize("name", sorted(representation_defences))
def test_the_same_seed_gives_the_same_extractor(name: str, points: Samples) -> None:
    first, states, devices = after(name, points, 2)
    second, again, _ = after(name, points, 2)
    assert same(first.shared, second.shared)
    assert all(same(states[device], again[device]) for device in states)
    # and a device goes on from what it kept
    device = next(iter(states))
    kept, _ = devices.train(first.shared, {device: states[device]}, 2)[device]
    fresh, _ = devices.train(first.shared, {device: None}, 2)[device]
    assert not same(kept.shared, fresh.shared)
