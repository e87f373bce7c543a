"""Assessments as an audit of an endpoint would end with, small and with a figure of its own in each place."""

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
from leakrange.metrics.estimate import Estimate

__all__ = ["cannot_tell", "leaks", "passes", "unmade"]

SUBJECT = SubjectEndpoint(
    name="risk",
    owner="Example Bank",
    authorised="M. Doe, 2026-11-02",
    addresses=("https://risk.example/score",),
    release="softmax",
    answers="all",
    classes=("low", "high"),
    digest="9f2c61d07a55",
    version="7",
    data="customers",
    records=2_400,
    fingerprint="ab" * 32,
)
EXTRACTION = ChosenAttack(
    attack="extraction",
    question="other",
    in_scope=False,
    made=False,
    why="it copies the model, and says nothing of the people behind the records",
)
RECONSTRUCTION = ChosenAttack(
    attack="reconstruction",
    question="reconstruction",
    in_scope=False,
    made=False,
    why="it reads samples of pictures, and the target takes rows",
)
THRESHOLD = ChosenAttack(
    attack="loss-threshold",
    question="membership",
    in_scope=True,
    made=True,
    samples=600,
    grants=("queries", "the records and their true classes"),
)
INFERENCE = ChosenAttack(
    attack="attribute-inference",
    question="attribute",
    in_scope=True,
    made=True,
    samples=1_000,
    grants=("queries", "auxiliary records with the hidden attribute"),
)
LIRA = ChosenAttack(
    attack="lira",
    question="membership",
    in_scope=True,
    made=False,
    samples=40_000,
    why="it asks 40,000 samples, and users 300: more than the budget",
    grants=("queries", "a pool of records to train shadow models on"),
)
MEMBERS = Power(about="membership", cases=300, others=300, visible=0.066, enough=True, needed=131)
SMOKERS = Power(about="smoker", cases=412, others=588, visible=0.052, enough=True, needed=104)
PLAN = AssessmentPlan(
    name="audit-risk-0123456789",
    scenario="name: audit-risk-0123456789\n",
    attacks=(INFERENCE, EXTRACTION, THRESHOLD, RECONSTRUCTION),
    power=(MEMBERS, SMOKERS),
    samples=1_600,
    uploads=300,
    money=3.2,
    currency="EUR",
    seconds=160.0,
)
BY_THRESHOLD = MadeAttack(
    attack="loss-threshold",
    question="membership",
    about="membership",
    samples=600,
    metrics={"auc": Estimate(value=0.71, low=0.67, high=0.75), "tpr_at_001": Estimate(value=0.09)},
)
BY_INFERENCE = MadeAttack(
    attack="attribute-inference",
    question="attribute",
    about="smoker",
    samples=1_000,
    metrics={"auc": Estimate(value=0.84, low=0.81, high=0.87)},
)


def _attribute(**changed: object) -> Finding:
    fields = {
        "about": "smoker",
        "question": "attribute",
        "conclusion": "leaks",
        "attack": "attribute-inference",
        "metric": "auc",
        "value": 0.84,
        "low": 0.81,
        "high": 0.87,
        "control": 0.61,
        "most": 0.26,
        "visible": 0.052,
        "sentence": "The answers tell “smoker” with an AUC of 0.840 <of 1> & more.",
    }
    return Finding.model_validate(fields | changed)


def _membership(**changed: object) -> Finding:
    fields = {
        "about": "membership",
        "question": "membership",
        "conclusion": "leaks",
        "attack": "loss-threshold",
        "metric": "auc",
        "value": 0.71,
        "low": 0.67,
        "high": 0.75,
        "control": 0.5,
        "most": 0.25,
        "visible": 0.066,
        "sentence": "The answers tell members of the training set with an AUC of 0.710.",
    }
    return Finding.model_validate(fields | changed)


def leaks() -> Assessment:
    """Membership and an attribute leak; a quota and a policy are proposed."""
    return Assessment(
        created="2026-11-28T06:30:05+00:00",
        subject=SUBJECT,
        plan=PLAN,
        conclusion="leaks",
        grade="D",
        headline="The model leaks who was in its training set, and whether a customer smokes.",
        recommendation="Answer with labels alone.",
        findings=(_membership(), _attribute()),
        attacks=(BY_INFERENCE, BY_THRESHOLD),
        prices=(
            PriceList(
                about="smoker",
                attack="attribute-inference",
                points=(PricePoint(samples=125, value=0.7), PricePoint(samples=1_000, value=0.84)),
                enough=500,
                quota=60,
                sentence="500 samples buy nine tenths of it; 60 samples a key are few enough.",
            ),
        ),
        advice=(
            Advice(
                policy="labels",
                chain="argmax",
                about=("smoker",),
                leaks=0.02,
                high=0.04,
                utility=0.91,
                after=0.91,
                command="leakrange policies put labels argmax",
                sentence="Labels alone leave a lead of at most 0.040.",
            ),
        ),
        limits=("No attack was tried that chooses its own questions.",),
        run="20261128-063005-a1b2c3",
        spent=1_573,
        seconds=412.5,
    )


def passes() -> Assessment:
    """The same attacks lead by nothing."""
    clear = {"conclusion": "passes", "value": 0.51, "low": 0.48, "high": 0.54, "most": 0.04}
    return leaks().model_copy(
        update={
            "conclusion": "passes",
            "grade": "A",
            "headline": "No leak was found above a lead of 0.10.",
            "recommendation": "Audit the next version.",
            "findings": (
                _membership(**clear, sentence="No attack tells members."),
                _attribute(**clear, sentence="No attack tells “smoker”."),
            ),
            "prices": (),
            "advice": (),
        }
    )


def cannot_tell() -> Assessment:
    """Forty members are too few for any conclusion on membership."""
    few = _membership(
        conclusion="cannot tell",
        value=0.58,
        low=0.45,
        high=0.7,
        sentence="It cannot be told whether members are recognised.",
        why="40 members show a lead from 0.180 on, and the threshold is 0.100.",
        needed="Give 131 members or more, and as many others.",
    )
    power = MEMBERS.model_copy(update={"cases": 40, "others": 40, "visible": 0.18, "enough": False})
    plan = PLAN.model_copy(update={"attacks": (EXTRACTION, THRESHOLD), "power": (power,)})
    return passes().model_copy(
        update={
            "conclusion": "cannot tell",
            "grade": "?",
            "headline": "Nothing can be told about membership.",
            "plan": plan,
            "findings": (few,),
            "attacks": (BY_THRESHOLD,),
        }
    )


def unmade() -> Assessment:
    """What was tried passes, and an attack in scope was not tried: so nothing is cleared."""
    plan = PLAN.model_copy(update={"attacks": (*PLAN.attacks, LIRA)})
    return passes().model_copy(
        update={"conclusion": "cannot tell", "grade": "?", "plan": plan, "headline": "One attack is missing."}
    )
