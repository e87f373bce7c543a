"""RMIA's ratios by hand, and its scores against the double loop that the definition is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leakrange.attacks.membership.membership import MembershipEvidence
from leakrange.attacks.membership.shadows import Rmia, log_reference, rmia
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


def asked(queries: int = 1) -> MembershipEvidence:
    """Four models' confidences in forty records, and in thirty that none of them saw; two classes."""
    rng = np.random.default_rng(4)
    records, population, models = 40, 30, 4

    def softmax(*shape: int) -> NDArray[np.float64]:
        sure = rng.uniform(0.05, 0.95, shape)
        return np.stack([sure, 1 - sure], axis=-1)

    return MembershipEvidence(
        observed=softmax(queries, records),
        labels=np.zeros(records, dtype=np.int64),
        shadows=softmax(models, queries, records),
        members=np.repeat([[True], [False]], models // 2, axis=0) ^ (rng.random(records) < 0.5),
        population=softmax(population),
        population_labels=np.zeros(population, dtype=np.int64),
        population_shadows=softmax(models, population),
        release="softmax",
    )


def by_definition(given: MembershipEvidence, query: int, gamma: float, a: float | None) -> list[float]:
    """The share of the population that each record beats: two loops over likelihoods, offline with ``a``."""

    def reference(likelihood: NDArray[np.float64], members: NDArray[np.bool_]) -> float:
        out = float(likelihood[~members].mean())
        if a is not None:
            return ((1 + a) * out + (1 - a)) / 2
        return (float(likelihood[members].mean()) + out) / 2 if members.any() else out

    nobody = np.zeros(len(given.shadows), dtype=bool)
    ratio_z = [
        own / reference(given.population_shadows[:, z, 0], nobody)
        for z, own in enumerate(given.population[:, 0])
    ]
    ratio_x = [
        own / reference(given.shadows[:, query, x, 0], given.members[:, x])
        for x, own in enumerate(given.observed[query, :, 0])
    ]
    return [float(np.mean([x / z >= gamma for z in ratio_z])) for x in ratio_x]


@pytest.mark.parametrize("gamma", [1.0, 1.7])
@pytest.mark.parametrize(("mode", "a"), [("online", None), ("offline", 0.3), ("offline", 0.9)])
def test_the_attack_scores_by_the_gamma_and_the_a_that_it_is_given(
    mode: str, a: float | None, gamma: float
) -> None:
    given = asked()
    told = {"mode": mode, "gamma": gamma} | ({} if a is None else {"a": a})
    scores = Rmia(Rmia.Parameters.model_validate(told)).score(given)
    np.testing.assert_allclose(scores, by_definition(given, 0, gamma, a))
    assert len(np.unique(scores)) > 5  # else any γ and any a would do


def test_all_queries_of_a_record_count() -> None:
    given = asked(queries=3)
    scores = Rmia(Rmia.Parameters.model_validate({"mode": "online"})).score(given)
    each = [by_definition(given, query, 2.0, None) for query in range(3)]
    np.testing.assert_allclose(scores, np.mean(each, axis=0))
