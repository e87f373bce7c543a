"""The plan of an audit: which attacks are made, what they ask, and what their figures can show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.stats import mannwhitneyu

from leakrange.assessment.document import ChosenAttack, Thresholds
from leakrange.assessment.plan import null_error, planned, power_of
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.wire.errors import DataUnavailable, InvalidInput
from tests.assessment.asked import payers, question


@pytest.fixture(autouse=True)
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    payers(tmp_path)


def attack(name: str, **changes: object) -> ChosenAttack:
    return next(each for each in planned(question(**changes)).attacks if each.attack == name)


def test_attacks_are_chosen_by_what_the_target_tells_and_the_records_hold() -> None:
    made = {each.attack for each in planned(question()).attacks if each.made}
    assert made >= {"attribute-inference", "loss-threshold", "quantile", "lira", "rmia"}
    assert not made & {"boundary", "label-votes", "extraction", "audit", "blind", "reconstruction"}
    assert attack("boundary").why == "it is made for labels alone, and the target tells how sure it is"
    assert not attack("lira", members=None).in_scope
    assert not attack("attribute-inference", hidden=()).in_scope
    labels = {"answers": "labels"}
    assert not attack("loss-threshold", card=labels).in_scope
    votes = attack("label-votes", card=labels, budget=100_000)
    assert votes.made, votes.why


def test_what_is_asked_stays_within_the_budget_and_is_what_the_run_asks() -> None:
    for budget in (200, 900, 5000):
        plan = planned(question(budget=budget))
        assert 0.3 * min(budget, 600) < plan.samples <= budget
        run = expand(parse(yaml.safe_load(plan.scenario)))
        asked = sum(span.stop - span.start for probe in run.probes for span in probe.spans)
        uploaded = sum(span.stop - span.start for stream in run.streams for span in stream.spans)
        assert (plan.samples, plan.uploads) == (asked + uploaded, uploaded)
        assert plan.money == pytest.approx(0.02 * plan.samples)
        assert plan.seconds == pytest.approx(-(-plan.samples // 8) / 10)


def test_an_attack_that_the_budget_does_not_buy_stays_in_scope() -> None:
    votes = attack("label-votes", card={"answers": "labels"}, budget=1000)
    assert votes.in_scope
    assert not votes.made
    assert votes.why == "it takes a budget of 6,400 samples or more"
    enough = attack("label-votes", card={"answers": "labels"}, budget=100_000)
    tight = attack("label-votes", card={"answers": "labels"}, budget=enough.samples)  # users ask as well
    assert enough.made
    assert (tight.in_scope, tight.made, tight.samples) == (True, False, enough.samples)
    assert tight.why.endswith("more than the budget")


def test_members_and_others_are_balanced_and_some_others_are_left_for_the_attribute() -> None:
    powers = {each.about: each for each in planned(question(budget=5000)).power}
    assert powers["membership"].cases == powers["membership"].others
    assert 120 <= powers["membership"].cases <= 190  # of 360 others half stay out of the pool
    gender = powers["gender"]
    assert 0 < gender.cases < gender.others  # there are fewer women


def test_the_error_without_a_lead_is_that_of_mann_and_whitney() -> None:
    rng = np.random.default_rng(3)
    sides = rng.normal(size=(3000, 30)), rng.normal(size=(3000, 70))
    areas = mannwhitneyu(*sides, axis=1, method="asymptotic").statistic / (30 * 70)
    assert null_error(30, 70) == pytest.approx(float(np.std(areas)), rel=0.05)


def test_power_says_which_records_are_too_few() -> None:
    few, many = (power_of("membership", *sides, 4, Thresholds()) for sides in ((40, 60), (400, 200)))
    assert (few.enough, many.enough) == (False, True)
    assert few.visible is not None
    assert many.visible is not None
    assert few.visible > 0.18 > 0.09 > many.visible
    assert few.needed == many.needed == 132
    assert few.rates[0] == (
        "the share of members found at 1 % false alarms is not measured: it takes 100 others"
    )
    assert many.rates[0] == (
        "where nobody is found at 1 % false alarms, at most 0.75 % of the members can be"
    )
    assert "takes 1,000 others" in many.rates[1]
    wide = power_of("membership", 400, 2000, 4, Thresholds()).rates[1]
    assert wide.endswith("to go below 0.1 % takes 3,000 members")
    tighter = power_of("gender", 400, 200, 4, Thresholds(bound=0.05))
    assert not tighter.enough
    assert tighter.rates == ()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"data": "nobody"}, "there is no data set 'nobody'"),
        ({"hidden": ("age",)}, "has no attribute 'age'"),
        ({"members": "gender"}, "'gender' does not say who was trained on"),
        ({"hidden": (), "members": None}, "nothing is hidden"),
        ({"budget": 30}, "no attack can be made"),
    ],
)
def test_a_question_that_the_data_cannot_answer_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises((InvalidInput, DataUnavailable), match=words):
        planned(question(**changes))
