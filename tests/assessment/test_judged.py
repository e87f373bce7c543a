"""The document of an audit: each conclusion and its sentences, on results that must get another one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leakrange.assessment.document import Assessment, AssessmentPlan, ChosenAttack, Power, Thresholds
from leakrange.assessment.judged import assessed
from leakrange.assessment.plan import planned, power_of
from leakrange.assessment.question import EndpointQuestion
from leakrange.metrics import Estimate
from leakrange.scenario.results import TrialResult
from tests.assessment.asked import area, payers, question, results, trial


@pytest.fixture(autouse=True, scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("payers")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEAKRANGE_DATA", str(folder / "data"))
        payers(folder)
        yield


PLANS: dict[str, AssessmentPlan] = {}
"""By their questions: tests share them."""


def judged(
    *trials: TrialResult,
    sides: tuple[int, int] = (300, 500),
    unmade: str | None = None,
    asked: EndpointQuestion | None = None,
) -> Assessment:
    """The document where so many members and others, and so many of either gender, were judged."""
    asked = asked or question(hidden=())
    name = asked.model_dump_json()
    if name not in PLANS:
        PLANS[name] = planned(asked)
    plan = PLANS[name]
    about = ["membership"] if asked.members else [*asked.hidden]
    powers: list[Power] = [power_of(name, *sides, 4, asked.thresholds) for name in about]
    attacks = [each.model_copy(update={"in_scope": each.made}) for each in plan.attacks]
    if unmade is not None:
        lost = {"question": "membership", "in_scope": True, "made": False, "why": "it takes more"}
        attacks.append(ChosenAttack(attack=unmade, **lost))  # type: ignore[arg-type]
    plan = plan.model_copy(update={"power": tuple(powers), "attacks": tuple(attacks)})
    return assessed(asked, plan, results(plan, *trials), records=600)


def beyond(value: float, half: float = 0.03) -> Estimate:
    return Estimate.within(value, (value - half, value + half))


def members(auc: float, *, blind: float = 0.5, rate: float = 0.02, **more: float | Estimate) -> TrialResult:
    return trial(
        auc=area(auc, 300, 500),
        blind_auc=blind,
        beyond_blind=beyond(auc - blind),
        tpr_at_001=rate,
        records=800.0,
        **more,
    )


def test_members_that_are_told_from_others_leak() -> None:
    document = judged(members(0.81), trial("loss-threshold", auc=area(0.7, 300, 500)))
    assert (document.conclusion, document.grade) == ("leaks", "E")
    assert "known models (drawn tables) in which no such leak is planted" in document.findings[0].among
    assert document.headline == (
        "“late” gives away who was in the training set: an attacker picks the member among a member and "
        "another in 81 % of cases; without the model it is 50 %."
    )
    assert document.findings[0].sentence == (
        "“late” gives away who was in the training set: the attack quantile tells it with an AUC of 0.810 "
        "(95 % interval 0.777 to 0.839); without the model it is 0.50."
    )
    assert document.recommendation.startswith("Do not let the model out as it is.")
    assert document.findings[0].needed == ""


def test_a_model_passes_where_a_leak_is_excluded() -> None:
    document = judged(members(0.51), trial("loss-threshold", auc=area(0.5, 300, 500)))
    assert (document.conclusion, document.grade) == ("passes", "A")
    assert document.headline == (
        "No attack that was made learns who was in the training set from “late”: a lead of more than 0.04 "
        "over guessing is excluded."
    )
    assert document.recommendation.startswith("As far as these attacks tell, the model may go out.")


def test_an_attack_in_scope_that_was_not_made_lets_nothing_pass() -> None:
    document = judged(members(0.51), unmade="label-votes")
    assert (document.conclusion, document.grade) == ("cannot tell", "?")
    assert document.headline == (
        "Whether “late” gives away who was in the training set cannot be told: label-votes could not be made "
        "(it takes more)."
    )
    assert document.recommendation == (
        "Do not decide by this audit. What it needs: a larger budget (--budget), or more records."
    )
    assert "In scope, and not made: label-votes (it takes more)." in document.limits
    assert judged(members(0.81), unmade="label-votes").conclusion == "leaks"


def test_too_few_members_tell_nothing_and_the_document_says_how_many_would() -> None:
    few = trial(auc=area(0.56, 20, 30), blind_auc=0.5, beyond_blind=beyond(0.06, 0.16))
    document = judged(few, sides=(20, 30))
    assert document.conclusion == "cannot tell"
    [finding] = document.findings
    assert finding.why == (
        "with 20 records of one side and 30 of the other a lead of up to 0.22 over guessing is not excluded, "
        "nor is none"
    )
    assert finding.needed == "about 143 records of one side and 214 of the other"


def test_records_that_differ_by_themselves_are_no_leak() -> None:
    document = judged(members(0.88, blind=0.72))
    assert document.conclusion == "cannot tell"
    assert document.headline == (
        "Whether “late” gives away who was in the training set cannot be told: a classifier that never sees "
        "the model tells members from others with an AUC of 0.72: the records differ by themselves."
    )
    assert "drawn at random" in document.recommendation
    assert judged(members(0.88, blind=0.53)).conclusion == "leaks"


def test_a_few_members_that_are_found_with_certainty_are_a_leak_at_any_auc() -> None:
    document = judged(members(0.53, rate=0.2))
    assert document.conclusion == "leaks"
    assert document.headline == (
        "“late” gives away who was in the training set: the attack quantile finds 20.0 % of the members "
        "while it accuses 1 % of the others."
    )
    assert judged(members(0.53, rate=0.06)).conclusion != "leaks"  # as many may be found by luck
    lenient = question(hidden=(), thresholds=Thresholds(found_members=0.3))
    assert judged(members(0.53, rate=0.2), asked=lenient).conclusion != "leaks"


def test_an_imbalanced_attribute_leaks_by_its_auc_alone() -> None:
    asked = question(members=None)
    one = trial(
        "attribute-inference",
        "gender",
        auc=area(0.73, 60, 540),
        curiosity=0.9,
        majority=0.9,
        imputation_auc=0.52,
        beyond_imputation=beyond(0.21, 0.08),
    )
    document = judged(one, asked=asked, sides=(60, 540))
    assert (document.conclusion, document.grade) == ("leaks", "D")
    assert document.headline == (
        "“late” gives away “gender”: an attacker picks the right one of two people who differ in it in 73 % "
        "of cases; without the model it is 52 %."
    )
    guessed = one.model_copy(
        update={"metrics": {**one.metrics, "imputation_auc": Estimate(value=0.72),
                            "beyond_imputation": beyond(0.01, 0.05)}}
    )  # fmt: skip
    assert judged(guessed, asked=asked, sides=(400, 540)).conclusion == "passes"
    few = judged(guessed, asked=asked, sides=(60, 540))
    assert few.conclusion == "cannot tell"
    assert "60 records of one side and 540 of the other are too few" in few.headline
    assert few.findings[0].needed.startswith("about ")


def test_thresholds_decide_what_is_a_leak() -> None:
    strict = question(hidden=(), thresholds=Thresholds(little=0.01, bound=0.02))
    mild = members(0.545)
    mild = mild.model_copy(update={"metrics": mild.metrics | {"beyond_blind": beyond(0.045, 0.004)}})
    assert judged(mild).conclusion == "passes"
    assert judged(mild, asked=strict).conclusion == "leaks"


def test_a_run_of_which_nothing_ended_tells_nothing() -> None:
    failed = members(0.9).model_copy(update={"state": "failed", "error": "no answer", "metrics": {}})
    document = judged(failed)
    assert document.conclusion == "cannot tell"
    assert "no attack came to an end" in document.headline
    assert any("no answer" in each for each in document.limits)


def test_an_attack_that_failed_lets_nothing_pass() -> None:
    failed = trial("lira").model_copy(update={"state": "failed", "error": "no answer"})
    document = judged(members(0.51), failed)
    assert document.conclusion == "cannot tell"
    assert document.findings[0].why == "lira came to no end at the largest budget"
    assert any("lira: no answer" in each for each in document.limits)
    assert judged(members(0.51), trial("lira", auc=area(0.5, 300, 500))).conclusion == "passes"
    assert judged(members(0.81), failed).conclusion == "leaks"


def test_the_price_list_says_which_quota_is_small_enough() -> None:
    asked = question(members=None)

    def at(budget: int, value: float, half: float) -> TrialResult:
        auc = Estimate.within(value, (value - half, value + half))
        return trial("attribute-inference", "gender", budget, auc=auc)

    leaking = [at(20, 0.52, 0.05), at(100, 0.56, 0.06), at(200, 0.79, 0.04), at(400, 0.8, 0.04)]
    [prices] = judged(*reversed(leaking), asked=asked).prices
    costs = [(each.samples, each.money) for each in prices.points]
    assert costs == [(20, 0.4), (100, 2.0), (200, 4.0), (400, 8.0)]
    assert (prices.enough, prices.quota) == (200, 100)
    assert prices.sentence == (
        "With 200 samples the attack has nine tenths of what it gets with 400. Up to 100 samples it neither "
        "leads by more than the threshold nor surely leaks; 10 keys that collude reach that with 10 each."
    )
    # A quota holds for the model of each seed: one leads by 0.16, their mean by 0.09 and without certainty.
    seeds = [at(20, 0.51, 0.1), at(100, 0.52, 0.1), at(400, 0.8, 0.04)]
    others = [at(20, 0.53, 0.1), at(100, 0.66, 0.1), at(400, 0.79, 0.04)]
    others = [each.model_copy(update={"seed": 1, "id": f"{each.id}.1"}) for each in others]
    [prices] = judged(*seeds, *others, asked=asked).prices
    assert prices.quota == 20
    at_once = [at(20, 0.7, 0.05), at(400, 0.71, 0.04)]
    [prices] = judged(*at_once, asked=asked).prices
    assert (prices.enough, prices.quota) == (20, None)
    assert prices.sentence.endswith(
        "A quota of 20 samples, the smallest that was tried, is already too much."
    )
    [prices] = judged(at(20, 0.5, 0.05), at(400, 0.49, 0.02), asked=asked).prices
    assert prices.quota == 400
    assert prices.sentence == (
        "Up to 400 samples the attack has no lead in the mean; one of 0.03 is left open."
    )
    dull = [at(20, 0.5, 0.05), at(100, 0.7, 0.05), at(400, 0.8, 0.04)]
    dull[0] = dull[0].model_copy(update={"metrics": dull[0].metrics | {"constant": Estimate(value=1.0)}})
    [prices] = judged(*dull, asked=asked).prices
    assert prices.quota is None  # that it learnt nothing from 20 samples allows none
    assert prices.sentence.endswith(
        "A quota of 100 samples, the smallest from which the attack learnt anything, is already too much."
    )
    [prices] = judged(dull[0], asked=asked).prices
    assert prices.sentence == "From 20 samples the attack learnt nothing of some model: no quota follows."
    [prices] = judged(members(0.81)).prices
    assert prices.sentence == (
        "The attack asks 1.1 samples for each record. A quota limits how many people are found, not how "
        "surely each is."
    )


def test_the_document_holds_what_was_asked_and_survives_being_written() -> None:
    document = judged(members(0.81))
    assert document.subject.addresses == ("http://127.0.0.1:9/late",)
    assert (document.subject.data, document.subject.records) == ("payers", 600)
    assert Assessment.model_validate_json(document.model_dump_json()) == document
