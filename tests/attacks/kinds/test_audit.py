"""An audit as a kind of attack: what it has the fleet examine, and what becomes of the verdict."""

from __future__ import annotations

from typing import Any

import pytest

from leakrange.attacks.kinds.audit import AuditKind
from leakrange.jobs.audit import AuditPlan
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.verdict import AuditedModel, Finding, Material, Verdict
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import PlannedTrial
from leakrange.wire.errors import InvalidScenario
from leakrange.wire.samples import SampleSpec
from tests.attacks.kinds.ready import MadeUp, judged_by

DATA = DataSpec(name="digits", size=16)
TEXT = """\
name: audits
seeds: [0, 4]
data: {{name: digits, size: 16{data}}}
providers:
  honest: {{target: digit}}
  vicious: {{behaviour: vicious, target: digit, beta: {{c: 1, r: 3}}}}
clients: {{phones: {{count: 2, samples: 40}}}}
defences:
  none: []
  rounded: [round: {{decimals: 1}}]
  pruned: [prune: {{amount: 0.1}}]
attacks:
  auditor: {{kind: audit{more}}}
budgets: [100]
"""


def text(more: str = "", data: str = "") -> str:
    return TEXT.format(more=more, data=data)


def audit_of(trial: PlannedTrial) -> AuditPlan:
    """What the trial has the fleet examine."""
    [asked] = trial.needs.steps.values()
    assert asked.step == "audit"
    return AuditPlan.model_validate(asked.parameters)


def finding(test: Any, score: float, threshold: float, **figures: float) -> Finding:
    return Finding(
        test=test,
        settings={},
        score=score,
        interval=(score - 0.001, score + 0.003),
        threshold=threshold,
        figures=figures,
        rounds=[0.5 * score, score] if test == "viciousness" else [],
        conclusion="suspicious",
        meaning="",
    )


def verdict() -> Verdict:
    subject = AuditedModel(
        name="m",
        url=None,
        sha256="0" * 64,
        size=1,
        net="conv-2d",
        width=1.0,
        parameters=1,
        task="digit",
        classes=tuple("0123456789"),
        heads=None,
        input=SampleSpec.picture(16, 16, 1),
    )
    material = Material(
        data=DATA,
        fingerprint="f",
        labelled=60,
        labelled_from="auxiliary",
        test=83,
        test_from="test",
        disjoint=None,
    )
    return Verdict(
        made="now",
        subject=subject,
        material=material,
        findings=(
            finding("viciousness", 0.0125, 0.0120, cosine=0.975, accuracy_before=0.9, accuracy_after=0.95),
            finding("entropy", 0.25, 0.1),
            finding("curiosity", 0.25, 0.05),
        ),
        conclusion="suspicious",
        confidence="",
        limits=(),
        seed=4,
        versions={},
    )


def test_the_verdict_becomes_the_figures_and_the_rounds_of_the_trial() -> None:
    judged = judged_by(AuditKind(), MadeUp(seed=4, steps_taken={"verdict": verdict()}))
    assert {name: found.value for name, found in judged.metrics.items()} == pytest.approx(
        {
            "viciousness": 0.0125,
            "cosine": 0.975,
            "suspected": 1.0,
            "entropy_excess": 0.25,
            "curiosity_excess": 0.25,
            "accuracy_before": 0.9,
            "accuracy_after": 0.95,
        }
    )
    moved, beyond = judged.metrics["viciousness"], judged.metrics["curiosity_excess"]
    assert (moved.low, moved.high) == pytest.approx((0.0115, 0.0155))
    assert (beyond.low, beyond.high) == pytest.approx((0.249, 0.253))
    assert judged.views == {"further-training": {"rounds": [0.00625, 0.0125], "threshold": 0.012}}
    assert (judged.victims, judged.spent) == (83, 0)


def test_each_model_is_audited_once_and_under_no_defence() -> None:
    plan = expand(parse(text(", labelled: 70, viciousness: {rounds: 3}")))
    assert [trial.result.id for trial in plan.trials] == [
        f"{provider}-s{seed}.none.auditor.unaware.b100"
        for provider in ("honest", "vicious")
        for seed in (0, 4)
    ]
    assert (plan.streams, plan.probes, plan.shadows) == ([], [], [])
    asked = audit_of(plan.trials[0])
    assert (asked.data, asked.labelled, asked.viciousness.rounds) == (DATA, 70, 3)
    assert asked.tests == ("viciousness", "entropy")
    assert {trial.result.sensitive for trial in plan.trials} == {"behaviour"}


def test_several_sensitive_attributes_are_looked_for_one_after_the_other() -> None:
    plan = expand(parse(text(", sensitive: [parity, large]")))
    audits = [(trial.result.sensitive, audit_of(trial)) for trial in plan.trials]
    assert {(name, audit.sensitive) for name, audit in audits} == {
        ("parity", "parity"),
        ("large", "large"),
    }
    assert all("curiosity" in audit.tests for _, audit in audits)


@pytest.mark.parametrize(
    ("more", "data", "said"),
    [
        (", labelled: 7", "", "20"),
        (", viciousness: {rounds: 0}", "", "1"),
        (", knowledge: [aware]", "", "attack 'audit' cannot be aware"),
        (", sensitive: colour", "", "no provider's data has an attribute 'colour'"),
        ("", ", auxiliary: 0.0", "set 'labelled_from: test'"),
    ],
)
def test_a_broken_plan_is_told_with_its_line(more: str, data: str, said: str) -> None:
    with pytest.raises(InvalidScenario) as refused:
        parse(text(more, data))
    assert said in str(refused.value.problem())


def test_without_auxiliary_samples_those_of_the_test_are_taken() -> None:
    plan = expand(parse(text(", labelled_from: test", ", auxiliary: 0.0")))
    assert {audit_of(trial).labelled_from for trial in plan.trials} == {"test"}
