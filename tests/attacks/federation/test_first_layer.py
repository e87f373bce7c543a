"""Samples and members in the update of a first layer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from leakrange.attacks.federation import (
    distances_from_span,
    moves_of_first_layer,
    relative_errors,
    samples_in_rows,
)
from leakrange.federation.updates import Update, fedavg
from leakrange.metrics.roc import auc
from leakrange.wire.errors import InvalidInput
from tests.attacks.federation.conftest import Seen

SENT = {
    "1.weight": np.zeros((3, 2)),
    "1.bias": np.zeros(3),
    "3.weight": np.zeros((2, 3)),
    "3.bias": np.zeros(2),
}


def test_rows_that_agree_are_a_sample_and_mixtures_are_not() -> None:
    one, other = np.array([2.0, -1.0, 1.0]), np.array([4.0, 3.0, 1.0])
    moves = np.array([0.5 * one, -2.0 * one, 0.1 * one, 3 * other, other, one + other, one - 3 * other])
    found = samples_in_rows(moves)
    np.testing.assert_allclose(found, [one[:2], other[:2]])
    assert samples_in_rows(moves[4:]).shape == (0, 2)
    assert samples_in_rows(np.zeros((3, 3))).shape == (0, 2)


def test_the_moves_are_those_of_the_first_linear_layer() -> None:
    received = {name: array + place for place, (name, array) in enumerate(SENT.items(), 1)}
    moves = moves_of_first_layer(SENT, received)
    assert moves.tolist() == [[1.0, 1.0, 2.0]] * 3
    with pytest.raises(InvalidInput, match="begin with a linear layer"):
        moves_of_first_layer({"0.weight": np.zeros((4, 3, 3, 3)), "0.bias": np.zeros(4)}, {})
    with pytest.raises(InvalidInput, match="with biases"):
        moves_of_first_layer({"0.weight": np.zeros((4, 3))}, {})


@pytest.mark.parametrize("epochs", [1, 5])
def test_two_samples_of_a_device_are_read_exactly_whatever_it_does_with_them(
    seen: Callable[..., Seen], epochs: int
) -> None:
    of = seen(2, epochs)
    guess = of.others.mean(axis=0)
    read = [
        relative_errors(
            of.samples(device), samples_in_rows(moves_of_first_layer(of.sent, of.received(device))), guess
        )
        for device in range(10)
    ]
    assert np.mean([(errors < 0.05).mean() for errors in read]) >= 0.9


def test_a_sum_over_devices_is_not_read(seen: Callable[..., Seen]) -> None:
    of = seen(2)
    devices = range(12)
    mean = fedavg([Update(device, len(of.samples(device)), of.received(device)) for device in devices])
    samples = np.concatenate([of.samples(device) for device in devices])
    found = samples_in_rows(moves_of_first_layer(of.sent, mean))
    assert (relative_errors(samples, found, of.others.mean(axis=0)) < 0.05).mean() <= 0.1


def test_distances_are_those_from_a_subspace() -> None:
    # of (1, 0, 1) and (0, 1, 1) spanned; (x, 1) = (2, -1, 1) within, (1, 1, 1) has 1/9 outside
    moves = np.array([[1.0, 0.0, 1.0], [0.0, 2.0, 2.0], [1.0, 1.0, 2.0]])
    found = distances_from_span(moves, np.array([[2.0, -1.0], [1.0, 0.0], [1.0, 1.0]]))
    np.testing.assert_allclose(found, [0.0, 0.0, 1 / 9], atol=1e-5)
    np.testing.assert_allclose(distances_from_span(np.zeros((3, 3)), np.ones((2, 2))), 1.0)
    everything = np.random.default_rng(0).normal(size=(9, 3))
    assert distances_from_span(everything, np.ones((2, 2))).max() < 1e-4


def test_members_of_a_small_update_lie_in_its_span_and_those_of_another_device_do_not(
    seen: Callable[..., Seen],
) -> None:
    of = seen(5)
    own, foreign = [], []
    for device in range(6):
        moves = moves_of_first_layer(of.sent, of.received(device))
        asked = [of.samples(device), of.samples(device + 6), of.others]
        members, strangers, others = (-distances_from_span(moves, each) for each in asked)
        for found, scores in ((own, members), (foreign, strangers)):
            truth = np.arange(len(scores) + len(others)) < len(scores)
            found.append(auc(np.concatenate([scores, others]), truth))
    assert np.mean(own) >= 0.98
    assert 0.3 <= np.mean(foreign) <= 0.7
