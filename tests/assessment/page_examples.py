"""Assessments to look at: one model that leaks, one that passes, and one of which nothing can be told."""

from __future__ import annotations

from leakrange.assessment.document import (
    Advice,
    Assessment,
    AssessmentPlan,
    ChosenAttack,
    Finding,
    MadeAttack,
    Power,
    PriceList,
    PricePoint,
    SubjectEndpoint,
)
from leakrange.metrics import Estimate

__all__ = ["leaking", "passing", "untold"]

SUBJECT = SubjectEndpoint(
    name="credit-decisions",
    owner="Retail bank, credit risk",
    authorised="J. Doe, head of model risk, 2026-11-20",
    addresses=("https://models.example/v2/models/credit/infer",),
    release="softmax",
    answers="all",
    classes=("refused", "granted"),
    digest="5b1f0c7ee0aa49d2",
    version="2026-11",
    data="credit-records",
    records=6400,
    fingerprint="9f" * 32,
)


def _attack(name: str, made: bool, why: str = "", **changed: object) -> ChosenAttack:
    question = "attribute" if "attribute" in name else "membership"
    facts: dict[str, object] = {"attack": name, "question": question, "in_scope": True, "made": made}
    return ChosenAttack.model_validate(facts | {"why": why, "samples": 1000 if made else 0} | changed)


PLAN = AssessmentPlan(
    name="audit-credit-decisions-0123456789",
    scenario="name: audit-credit-decisions\nproviders:\n  endpoint: {behaviour: remote}\n",
    attacks=(
        _attack("lira", True, grants=("records of the same kind",)),
        _attack("loss-threshold", True),
        _attack("attribute-inference", True),
        _attack("rmia", False, "it asks 9,000 samples, and users 900: more than the budget"),
        _attack("label-only", False, "it is made for labels alone", in_scope=False),
    ),
    power=(
        Power(
            about="membership", cases=900, others=900, visible=0.041, enough=True, needed=263,
            rates=("where nobody is found at 1 % false alarms, at most 0.33 % of the members can be",),
        ),
        Power(about="housing", cases=120, others=1080, visible=0.078, enough=True, needed=263),
    ),
    samples=4200,
    uploads=900,
    money=12.6,
    currency="EUR",
    seconds=84.0,
    trained=16,
)  # fmt: skip

LEAKS = Finding(
    about="membership",
    question="membership",
    conclusion="leaks",
    attack="lira",
    metric="auc",
    value=0.742,
    low=0.701,
    high=0.783,
    control=None,
    most=0.283,
    visible=0.041,
    sentence="LiRA tells members from others with an AUC of 0.742, where guessing gives 0.500.",
)
CONTROLLED = Finding(
    about="housing",
    question="attribute",
    conclusion="passes",
    attack="attribute-inference",
    metric="auc",
    value=0.667,
    low=0.631,
    high=0.703,
    control=0.655,
    most=0.048,
    visible=0.078,
    sentence="Housing is told with an AUC of 0.667, of which 0.655 can be guessed from the other columns.",
)
MEMBERS = MadeAttack(
    attack="lira",
    question="membership",
    about="membership",
    samples=1800,
    metrics={
        "auc": Estimate(value=0.742, low=0.701, high=0.783),
        "tpr_at_001": Estimate(value=0.123, low=0.094, high=0.158),
    },
)
WEAKER = MadeAttack(
    attack="loss-threshold",
    question="membership",
    about="membership",
    samples=1800,
    metrics={"auc": Estimate(value=0.61), "tpr_at_001": Estimate(value=0.031, low=0.02, high=0.045)},
)
HOUSING = MadeAttack(
    attack="attribute-inference",
    question="attribute",
    about="housing",
    samples=1200,
    metrics={
        "auc": Estimate(value=0.667, low=0.631, high=0.703),
        "curiosity": Estimate(value=0.913, low=0.896, high=0.928),
        "majority": Estimate(value=0.9),
    },
)


def leaking() -> Assessment:
    """Membership leaks, an attribute does not beyond its control; with price list and advice."""
    return Assessment(
        created="2026-11-28T06:30:00+00:00",
        subject=SUBJECT,
        plan=PLAN,
        conclusion="leaks",
        grade="D",
        headline="“credit-decisions” gives away who was in the training set: the attack lira tells it with "
        "an AUC of 0.742 (95 % interval 0.701 to 0.783); guessing has 0.50.",
        recommendation="Round the answers to one decimal before the model goes out.",
        findings=(LEAKS, CONTROLLED),
        attacks=(MEMBERS, WEAKER, HOUSING),
        prices=(
            PriceList(
                about="membership",
                attack="lira",
                points=(
                    PricePoint(samples=112, value=0.59, low=0.48, high=0.7, money=0.336),
                    PricePoint(samples=450, value=0.68, low=0.621, high=0.739, money=1.35),
                    PricePoint(samples=1800, value=0.742, low=0.701, high=0.783, money=5.4),
                ),
                enough=900,
                quota=112,
                sentence="The attack has nine tenths of its lead after 900 samples; a quota of 112 holds.",
            ),
        ),
        advice=(
            Advice(
                policy="rounded",
                chain="round: {decimals: 1}",
                about=("membership",),
                leaks=0.541,
                high=0.579,
                utility=0.874,
                after=0.874,
                command="leakrange policies add rounded --chain 'round: {decimals: 1}'",
                sentence="Answers rounded to one decimal meet the thresholds, and cost users nothing.",
            ),
        ),
        limits=("Attacks that choose their queries were not made.",),
        run="r-7f3a",
        spent=4150,
        seconds=431.0,
        versions={"leakrange": "1.4.0", "lira": "3"},
    )


def passing() -> Assessment:
    """Nothing is found, with power enough; the target has no price."""
    return leaking().model_copy(
        update={
            "plan": PLAN.model_copy(update={"money": None, "currency": ""}),
            "conclusion": "passes",
            "grade": "A",
            "headline": "No attack in scope learns more from credit-decisions than can be guessed.",
            "recommendation": "It may go out; assess it again when it is trained again.",
            "findings": (CONTROLLED,),
            "attacks": (HOUSING,),
            "prices": (),
            "advice": (),
        }
    )


def untold() -> Assessment:
    """Forty members, and a finding without any figure."""
    few = Power(about="membership", cases=40, others=40, visible=0.183, enough=False, needed=263)
    return passing().model_copy(
        update={
            "plan": PLAN.model_copy(update={"power": (few,)}),
            "conclusion": "cannot tell",
            "grade": "?",
            "headline": "Whether “credit-decisions” gives away who was in the training set cannot be told: a "
            "classifier that never sees the model tells members from others with an AUC of 0.71.",
            "recommendation": "Give 263 members and as many others.",
            "findings": (
                Finding(
                    about="membership",
                    question="membership",
                    conclusion="cannot tell",
                    sentence="Nothing can be told about membership.",
                    why="A blind classifier tells members from others.",
                    needed="263 members and as many others that were drawn in the same way",
                ),
            ),
            "attacks": (),
        }
    )
