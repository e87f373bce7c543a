"""Sections 3.1 and 3.2 of Honest-but-Curious Nets: what the paper claims of its synthetic points."""

import pytest
import torch

from leakrange.reproduction.hbc.blackbox import (
    PAPER,
    SCHEDULE,
    FrontierPoint,
    measure_frontier,
    measure_mixtures,
)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def test_a_hard_mixture_is_perfect_and_a_normal_one_nearly() -> None:
    hard, normal = measure_mixtures(seeds=[0])
    assert (hard.mixture, normal.mixture) == ("hard", "normal")
    assert (hard.honesty, hard.curiosity) == PAPER["hard"]
    assert normal.honesty >= 0.98
    assert normal.curiosity >= 0.93
    assert (normal.beta_y, normal.beta_s) == pytest.approx((0.8, 0.2))


def test_a_logistic_regression_pays_honesty_for_curiosity() -> None:
    points = measure_frontier([0.0, 0.3, 0.5, 0.7, 1.0], seeds=[0])
    assert max(point.deviation for point in points) < 0.02
    curiosity = [point.curiosity for point in points]
    assert curiosity == sorted(curiosity)
    assert curiosity[0] == pytest.approx(0.5, abs=0.02)
    assert (points[0].honesty, points[-1].curiosity) == (1.0, 1.0)
    assert curiosity[2] == pytest.approx(0.75, abs=0.05)


def test_the_deviation_is_that_from_the_line() -> None:
    assert FrontierPoint(0.5, 0.5, 0, honesty=0.7, curiosity=0.75).deviation == pytest.approx(0.05)
    assert FrontierPoint(0.5, 0.5, 0, honesty=0.8, curiosity=0.75).deviation == pytest.approx(0.05)
    assert SCHEDULE.epochs >= 1
