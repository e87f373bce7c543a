"""Metrics by name: what is registered is measured, described and shown, and nothing else has to know it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from leakrange.metrics import Estimate, Guesses, described, in_order, measured, metric, metrics

GUESSES = Guesses(np.array([0, 1, 1, 1]), np.array([0, 1, 1, 0]), 2)


@dataclass(frozen=True)
class Drawn:
    """An outcome of a kind that comes from elsewhere."""

    error: float


@pytest.fixture
def added() -> Iterator[None]:
    list(metrics)
    before = dict(metrics._entries)

    @metric(
        "error_rate", measures=Guesses, title="error rate", unit="share", role="leakage", higher=False, rank=5
    )
    def error_rate(guesses: Guesses) -> float:
        return float((guesses.predicted != guesses.truth).mean())

    @metric("distance", measures=Drawn, title="distance", unit="dB", role="leakage")
    def distance(drawn: Drawn) -> float:
        return drawn.error

    yield
    metrics._entries = before


def test_a_registered_function_is_measured_of_every_outcome_of_its_type(added: None) -> None:
    found = measured(GUESSES, Drawn(31.5))
    assert (found["error_rate"], found["distance"]) == (Estimate(value=0.25), Estimate(value=31.5))
    assert "honesty" not in found  # of which there is no outcome
    assert list(found) == ["error_rate", "curiosity", "majority", "nag", "advantage", "distance"]


def test_what_is_not_finite_is_no_figure(added: None) -> None:
    assert measured(Drawn(float("inf"))) == {}


def test_a_metric_that_is_not_installed_any_more_is_shown_by_its_name() -> None:
    entry = described("mean_regret")
    assert (entry.title, entry.role, entry.unit) == ("mean regret", "context", "number")
    assert in_order(["mean_regret", "auc", "honesty"]) == ["honesty", "auc", "mean_regret"]


def test_a_chance_level_is_a_value_or_a_metric() -> None:
    for entry in metrics.values():
        assert not isinstance(entry.chance, str) or entry.chance in metrics, entry.name
