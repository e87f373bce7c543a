"""BASE by hand, against its definition in decimals, and where probabilities have no digits left."""

from __future__ import annotations

import dataclasses
from decimal import Decimal, getcontext

import numpy as np
import pytest
from scipy.stats import spearmanr

from leakrange.attacks import attacks
from leakrange.attacks.membership.base import log_mean
from leakrange.attacks.membership.membership import MembershipEvidence
from leakrange.metrics import auc
from leakrange.wire.errors import InvalidInput
from tests.attacks.membership.test_membership import attack, made_up, once
from tests.attacks.membership.test_rmia import asked

MODES = ("online", "offline")


def test_the_mean_is_that_of_the_chosen_models_worked_by_hand() -> None:
    logs = np.log([[[0.9, 0.2]], [[0.3, 0.6]], [[0.5, 0.8]]])
    chosen = np.array([[[False, True]], [[True, False]], [[True, False]]])
    np.testing.assert_allclose(np.exp(log_mean(logs, chosen)), [[0.4, 0.2]])
    np.testing.assert_allclose(np.exp(log_mean(logs, chosen | True)), [[1.7 / 3, 1.6 / 3]])
    with pytest.raises(InvalidInput, match="1 records have no shadow"):
        log_mean(logs, chosen & np.array([True, False]))


@pytest.mark.parametrize("logs", [(-1e-18, -3e-18), (-400.0, -401.0), (-1e-18, -800.0), (-0.7, -0.6)])
def test_it_keeps_its_digits_near_certainty_and_far_from_it(logs: tuple[float, float]) -> None:
    getcontext().prec = 60
    expected = float((sum((Decimal(each).exp() for each in logs), Decimal(0)) / 2).ln())
    computed = log_mean(np.array(logs)[:, np.newaxis, np.newaxis], np.ones((2, 1, 1), bool))
    assert computed.item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_scores_are_those_of_the_definition(mode: str) -> None:
    given = asked(queries=2)
    expected = []
    for record in range(len(given.labels)):
        those = np.ones(len(given.members), bool) if mode == "online" else ~given.members[:, record]
        ratios = [
            given.observed[query, record, 0] / given.shadows[those, query, record, 0].mean()
            for query in (0, 1)
        ]
        expected.append(np.mean(np.log(ratios)))
    np.testing.assert_allclose(attack("base", {"mode": mode}).score(given), expected)


@pytest.mark.parametrize("mode", MODES)
def test_it_orders_records_as_rmia_does_without_its_population(mode: str) -> None:
    evidence, truth = made_up(memory=3.0)
    alone = dataclasses.replace(
        evidence,
        population=evidence.population[:0],
        population_labels=evidence.population_labels[:0],
        population_shadows=evidence.population_shadows[:, :0],
    )
    scores = attack("base", {"mode": mode}).score(once(alone))
    pairwise = attack("rmia", {"mode": mode, "gamma": 1.0, "a": 1.0}).score(once(evidence))
    assert spearmanr(scores, pairwise).statistic > 0.97
    assert auc(scores, truth) > auc(attack("loss-threshold", {}).score(once(evidence)), truth) + 0.1


def sure(evidence: MembershipEvidence) -> MembershipEvidence:
    """Models that give every record's class a margin between 40 and 120: probabilities of 1 in all digits."""
    margins = {
        name: np.clip(getattr(evidence, name), -40.0, 40.0) + 80.0 * (np.arange(10) == labels[:, np.newaxis])
        for name, labels in (
            ("observed", evidence.labels),
            ("shadows", evidence.labels),
            ("population", evidence.population_labels),
            ("population_shadows", evidence.population_labels),
        )
    }
    return dataclasses.replace(evidence, **margins)


def test_models_that_are_sure_of_everything_still_tell_their_members_to_base_and_not_to_rmia() -> None:
    evidence, truth = made_up(memory=6.0)
    given = sure(once(evidence))
    assert auc(attack("rmia", {}).score(given), truth) == 0.5
    for mode in MODES:
        assert auc(attack("base", {"mode": mode}).score(given), truth) > 0.7


def test_it_needs_shadow_models_and_says_so() -> None:
    assert any("shadow" in each for each in attacks["base"].grants)
