"""What is told about PASS in numbers, before and after its training."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import entropy
from sklearn.metrics import mutual_info_score

from leakrange.defences.substitutes.bounds import deltas, divergences, estimates


def test_the_divergence_of_each_substitute_is_that_of_scipy_and_their_mean_the_information() -> None:
    rng = np.random.default_rng(0)
    private, drawn = rng.integers(0, 3, 4000), rng.integers(0, 5, 4000)
    drawn = np.where(rng.random(4000) < 0.3, private, drawn)
    counts = np.zeros((3, 6))
    np.add.at(counts, (private, drawn), 1.0)
    gammas, information = divergences(counts / 4000)
    shares = counts.sum(axis=1) / 4000
    for place in range(5):
        told = counts[:, place] / counts[:, place].sum()
        assert gammas[place] == pytest.approx(entropy(told, shares), rel=1e-9)
    assert gammas[5] == 0.0  # never drawn
    assert information == pytest.approx(mutual_info_score(private, drawn), rel=1e-9)


def test_what_a_substitute_gives_away_for_certain_has_the_largest_divergence() -> None:
    gammas, information = divergences(np.array([[0.2, 0.0], [0.0, 0.8]]))
    assert gammas == pytest.approx([math.log(5), math.log(1.25)])
    assert information == pytest.approx(entropy([0.2, 0.8]))


def test_no_event_is_more_likely_for_another_sample_by_more_than_delta() -> None:
    """Theorem B.1, and its form for single samples, for an attacker who knows P(S|X')."""
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.full(7, 0.5), size=40)
    private = rng.integers(0, 3, 40)
    joint = np.stack([p[private == label].sum(axis=0) for label in range(3)]) / 40
    gammas, _ = divergences(joint)
    told = p @ (joint / joint.sum(axis=0)).T
    apart = np.abs(told[:, None] - told[None, :]).sum(axis=2) / 2  # the event for which it is most
    assert apart.max() <= deltas(gammas.max())
    of_sample = p @ np.sqrt(2 * gammas)
    assert (apart <= (of_sample[:, None] + of_sample[None, :]) / 2 + 1e-12).all()
    assert deltas(np.array([0.0, 0.02, 9.0])) == pytest.approx([0.0, 0.2, 1.0])


def test_the_estimates_before_training_are_counted_on_the_training_samples() -> None:
    speaker = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    digit = np.array([0, 1, 0, 1, 0, 0, 0, 0, 0, 1])
    parity = digit.copy()
    samples = np.arange(10, dtype=np.float32).reshape(10, 1)
    samples[5] = samples[4]  # the same recording twice
    found = estimates({"speaker": speaker}, {"digit": digit, "parity": parity}, samples)
    assert found["entropy"]["digit"] == pytest.approx(entropy([0.7, 0.3]))
    assert found["total_correlation"] == pytest.approx(entropy([0.7, 0.3]))
    given = found["private"]["speaker"]
    assert given["useful_given"] == pytest.approx(0.4 * math.log(2) + 0.6 * entropy([5 / 6, 1 / 6]))
    second = entropy([1 / 3, 1 / 6, 1 / 6, 1 / 6, 1 / 6])
    assert given["samples_given"] == pytest.approx(0.4 * math.log(4) + 0.6 * second)
    alone = estimates({"speaker": speaker}, {}, samples)
    assert alone["total_correlation"] == alone["private"]["speaker"]["useful_given"] == 0.0
