"""Whom recovered embeddings name, counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.metrics import measured, wilson_interval
from leakrange.metrics.templates import RecoveredTemplates, rank_of_own


def test_a_rank_counts_who_is_more_similar_and_half_of_who_is_equally() -> None:
    similarity = np.array([[0.9, 0.1, 0.3], [0.2, 0.2, 0.5], [0.4, 0.4, 0.4], [0.1, 0.8, 0.7]])
    assert rank_of_own(similarity, np.array([0, 0, 2, 2])).tolist() == [0.0, 1.5, 1.0, 1.0]


def test_figures_are_shares_of_people_and_means_of_cosines() -> None:
    cosine = np.array([0.9, 0.5, 0.4, 0.8])
    outcome = RecoveredTemplates(
        cosine, np.array([0.1, 0.0, 0.3, 0.0]), np.array([0, 3, 0.5, 0]), np.array([0, 0, 0, 2.0]), 20
    )
    figures = measured(outcome)
    assert {name: estimate.value for name, estimate in figures.items()} == pytest.approx(
        {
            "identified": 0.5,
            "identified_by_chance": 0.05,
            "identified_by_picture": 0.75,
            "template_cosine": 0.65,
            "template_cosine_unasked": 0.1,
        }
    )
    assert (figures["identified"].low, figures["identified"].high) == pytest.approx(wilson_interval(2, 4))
    low, high = figures["template_cosine"].low, figures["template_cosine"].high
    assert low is not None
    assert high is not None
    half = 3.182446 * cosine.std(ddof=1) / 2  # Student's t of three degrees of freedom
    assert (low, high) == pytest.approx((0.65 - half, 0.65 + half), abs=1e-5)
