"""RMIA's ratios by hand, and its scores against the double loop that the definition is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.attacks.membership.rmia import log_reference, rmia
from leakrange.wire.errors import InvalidInput

MEMBERS = np.array([[True, False], [False, True], [False, True]])
LIKELIHOOD = np.array([[0.9, 0.2], [0.3, 0.6], [0.5, 0.8]])


def test_references_worked_by_hand() -> None:
    # record 0: out .3, .5 (mean .4), in .9; record 1: out .2, in .6, .8 (mean .7)
    np.testing.assert_allclose(np.exp(log_reference(np.log(LIKELIHOOD), MEMBERS, None)), [0.65, 0.45])
    offline = [(1.3 * 0.4 + 0.7) / 2, (1.3 * 0.2 + 0.7) / 2]
    np.testing.assert_allclose(np.exp(log_reference(np.log(LIKELIHOOD), MEMBERS, 0.3)), offline)
    as_out = np.exp(log_reference(np.log(LIKELIHOOD), MEMBERS, 1.0))
    np.testing.assert_allclose(as_out, [0.4, 0.2])
    nobody = np.zeros_like(MEMBERS)  # a population: there is no model with it
    np.testing.assert_allclose(
        np.exp(log_reference(np.log(LIKELIHOOD), nobody, None)), LIKELIHOOD.mean(axis=0)
    )


def test_a_record_that_every_reference_model_saw_is_refused() -> None:
    with pytest.raises(InvalidInput, match="every reference model"):
        log_reference(np.log(LIKELIHOOD), np.ones_like(MEMBERS), 0.3)


ratios = st.lists(st.integers(-6, 6), min_size=1, max_size=30)


@given(ratios, ratios, st.sampled_from([1.0, 2.0, 8.0]))
def test_the_score_is_the_share_of_the_population_that_is_beaten(
    x: list[int], z: list[int], gamma: float
) -> None:
    # powers of two: ties are the rule, and the small step settles the rounding of logarithms
    ratio_x, ratio_z = np.array(x) * np.log(2) + 1e-9, np.array(z) * np.log(2)
    expected = [np.mean([np.exp(a - b) >= gamma for b in ratio_z]) for a in ratio_x]
    np.testing.assert_allclose(rmia(ratio_x, ratio_z, gamma), expected)
