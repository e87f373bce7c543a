"""Samples that are looked for without the nets that devices keep."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

from leakrange.attacks.federation import optimised_samples, relative_errors
from tests.attacks.federation.conftest import Seen


def test_two_samples_are_found_from_two_others(seen: Callable[..., Seen]) -> None:
    of = seen(2)
    samples, start = of.samples(0), of.others[:2]
    guess = of.others.mean(axis=0)
    assert relative_errors(samples, start, guess).mean() > 0.5
    found, cosine = optimised_samples(of.devices.extractor, of.sent, of.received(0), start, steps=600)
    assert cosine > 0.999
    assert relative_errors(samples, found, guess).max() < 0.1


def test_noise_in_place_of_an_update_is_no_gradient_of_two_samples(seen: Callable[..., Seen]) -> None:
    of = seen(2)
    draw = np.random.default_rng(0)
    noise = {name: (each + draw.normal(size=each.shape)).astype(np.float32) for name, each in of.sent.items()}
    _, cosine = optimised_samples(of.devices.extractor, of.sent, noise, of.others[:2], steps=100)
    assert cosine < 0.5


def test_the_cosine_is_that_of_the_gradient_that_was_looked_for() -> None:
    # one neuron: the gradient of w·x·v is (x·v, v), and the update is minus a step along it
    net = torch.nn.Linear(2, 1)
    sent = {"weight": np.array([[0.5, -0.5]], np.float32), "bias": np.array([0.0], np.float32)}
    received = {"weight": sent["weight"] - [[0.1, -0.05]], "bias": sent["bias"] - [0.1]}
    received = {name: each.astype(np.float32) for name, each in received.items()}
    found, cosine = optimised_samples(net, sent, received, np.zeros((1, 2), np.float32), steps=300)
    np.testing.assert_allclose(found, [[1.0, -0.5]], atol=0.02)
    assert cosine > 0.9999
