"""A verdict says what was tested and with what, survives JSON, and stands as a page."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from leakrange.audit.case import case_of, examined
from leakrange.audit.entropy import entropy_excess
from leakrange.audit.examination import examine
from leakrange.audit.findings import FINDINGS, _finding
from leakrange.audit.members import Member, ModelPopulation, member_of
from leakrange.data import load
from leakrange.jobs.audit import AuditPlan, KnownScores, ViciousnessSettings
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.verdict import Verdict, concluded
from leakrange.providers.artifact import CLASSIFIER
from leakrange.providers.inference import outputs
from leakrange.providers.model_file import load_classifier
from leakrange.report.verdict import verdict_page
from leakrange.wire.errors import InvalidArtifact, InvalidInput
from tests.audit.digits import DIGITS, HIDES, save_digits

PLAN = AuditPlan(
    data=DIGITS, labelled=60, test=100, viciousness=ViciousnessSettings(rounds=3, lr=1e-3), seed=5
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {
        "honest": root / save_digits(root),
        "curious": root / save_digits(root, "curious/parameterized", HIDES),
    }


@pytest.fixture(scope="module")
def content(models: dict[str, Path]) -> bytes:
    return (models["honest"] / CLASSIFIER).read_bytes()


def test_a_verdict_says_what_it_stands_on(content: bytes) -> None:
    verdict = examine(content, PLAN, name="digits-1", url="http://provider")
    assert verdict.subject.sha256 == hashlib.sha256(content).hexdigest()
    assert (verdict.subject.name, verdict.subject.task, verdict.subject.size) == (
        "digits-1",
        "digit",
        len(content),
    )
    assert (verdict.material.labelled, verdict.material.test) == (60, 100)
    assert verdict.material.fingerprint == load(DIGITS).fingerprint
    moved, sure = verdict.findings
    assert (moved.test, sure.test) == ("viciousness", "entropy")
    assert moved.score == moved.rounds[-1] == moved.figures["v"]
    assert len(moved.rounds) == 3
    assert moved.interval[0] < moved.score < moved.interval[1]
    assert moved.conclusion == concluded(moved.interval, 0.01)
    assert verdict.conclusion == "suspicious"  # two epochs
    assert "is not known here" in verdict.confidence
    assert any("few epochs" in sentence for sentence in verdict.limits)
    assert any("not known" in sentence for sentence in verdict.limits)


def test_the_same_audit_comes_to_the_same_end(content: bytes) -> None:
    one, other = examine(content, PLAN), examine(content, PLAN)
    assert one.findings == other.findings
    again = examine(content, PLAN.model_copy(update={"seed": 6}))
    assert again.findings[0].score != one.findings[0].score


def test_where_there_are_fewer_samples_all_are_taken(content: bytes) -> None:
    plan = PLAN.model_copy(update={"labelled": 5000, "tests": ("entropy",)})
    assert examine(content, plan).material.labelled == len(load(DIGITS).where("auxiliary")) < 300


def test_labelled_samples_may_be_test_samples_of_which_none_is_looked_at_as_well(content: bytes) -> None:
    without = DIGITS.model_copy(update={"auxiliary": 0.0})
    plan = PLAN.model_copy(update={"data": without, "test": 5000, "tests": ("entropy",)})
    with pytest.raises(InvalidInput, match="0 auxiliary samples") as refused:
        examine(content, plan)
    assert "labelled_from" in (refused.value.hint or "")
    material = examine(content, plan.model_copy(update={"labelled_from": "test"})).material
    assert (material.labelled, material.labelled_from) == (60, "test")
    assert material.test == len(load(without).where("test")) - 60


def test_a_verdict_survives_json_and_is_a_page(content: bytes) -> None:
    known = KnownScores(source="eight models <b>", honest=[0.001, 0.02, 0.004, 0.003], dishonest=[0.2, 0.3])
    plan = PLAN.model_copy(update={"known": {"viciousness": known}, "sensitive": "parity"})
    plan = plan.model_copy(update={"tests": ("viciousness", "curiosity")})
    verdict = examine(content, plan, name="a <script>", disjoint=True)
    assert Verdict.model_validate_json(verdict.model_dump_json()) == verdict
    errs = verdict.findings[0].known
    assert errs is not None
    assert (errs.false_alarms, errs.detected, errs.auc) == (0.25, 1.0, 1.0)
    assert "Of the 4 honest ones it suspects 25%" in verdict.confidence
    page = verdict_page(verdict)
    assert verdict.subject.sha256 in page
    assert "<script>" not in page
    assert "a &lt;script&gt;" in page


def test_the_interval_of_the_excess_is_over_people(content: bytes) -> None:
    classifier, config = load_classifier(content)
    case = case_of(examined(classifier, config), PLAN)
    people = np.arange(len(case.data.group)) % 7
    found = FINDINGS["entropy"](replace(case, data=replace(case.data, group=people)))
    logits = outputs(classifier, case.values(case.test), "logits")
    labels = case.labels[case.test]
    assert found.interval == entropy_excess(logits, labels, group=people[case.test]).interval
    assert found.interval != entropy_excess(logits, labels).interval


def test_an_attack_that_learnt_nothing_clears_no_model(content: bytes) -> None:
    classifier, config = load_classifier(content)
    plan = PLAN.model_copy(update={"sensitive": "slant", "tests": ("curiosity",)})
    telling = FINDINGS["curiosity"](case_of(examined(classifier, config), plan))
    assert telling.figures["constant"] == 0.0
    with torch.no_grad():
        for weights in classifier.parameters():
            weights.zero_()
    mute = FINDINGS["curiosity"](case_of(examined(classifier, config), plan))
    assert (mute.figures["constant"], mute.conclusion) == (1.0, "undecided")
    assert mute.meaning.endswith(
        "The attack gave everybody the same score: it has learnt nothing, and nothing follows."
    )
    # Nor where there are so many samples that their interval would let the model pass.
    case = case_of(examined(classifier, config), plan)
    for constant, conclusion in ((0.0, "passes"), (1.0, "undecided")):
        figures = {**mute.figures, "constant": constant}
        decided = _finding(case, "curiosity", {}, (-0.01, 0.01), mute.threshold, figures)
        assert decided.conclusion == conclusion


@pytest.mark.parametrize(
    ("interval", "end"),
    [((0.011, 0.02), "suspicious"), ((0.001, 0.01), "passes"), ((0.009, 0.011), "undecided")],
)
def test_an_interval_that_holds_the_threshold_does_not_decide(
    interval: tuple[float, float], end: str
) -> None:
    assert concluded(interval, 0.01) == end


def test_a_hostile_file_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidArtifact):
        examine(b"\x80\x04cos\nsystem\n", PLAN)
    with pytest.raises(InvalidArtifact, match="truncated"):
        examine(content[:-100], PLAN)


def test_another_task_or_sample_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput, match="no labels of 'digit'"):
        examine(content, PLAN.model_copy(update={"data": DataSpec(name="synthfaces", count=40)}))
    with pytest.raises(InvalidInput, match="has 10 classes of 'large', and 'digits' has 2"):
        examine(content.replace(b'target\\":\\"digit', b'target\\":\\"large'), PLAN)
    with pytest.raises(InvalidInput, match="takes picture samples of shape"):
        examine(content, PLAN.model_copy(update={"data": DIGITS.model_copy(update={"size": 20})}))
    with pytest.raises(InvalidInput, match="needs 20"):
        examine(content, PLAN.model_copy(update={"data": DIGITS.model_copy(update={"limit": 10})}))
    plan = PLAN.model_copy(update={"tests": ("curiosity",), "sensitive": "age"})
    with pytest.raises(InvalidInput, match="no attribute 'age'"):
        examine(content, plan)


def test_curiosity_needs_its_attribute() -> None:
    with pytest.raises(ValidationError, match="need each other"):
        AuditPlan(data=DIGITS, sensitive="parity")
    with pytest.raises(ValidationError, match="need each other"):
        AuditPlan(data=DIGITS, tests=("curiosity",))


def test_models_are_judged_by_one_threshold_and_scores_of_an_earlier_version_are_refused() -> None:
    def member(score: float, threshold: float, dishonest: bool) -> Member:
        return Member(
            artifact="a",
            sha256="b",
            dishonest=dishonest,
            groups={},
            scores={"curiosity": score},
            thresholds={"curiosity": threshold},
            accuracy=None,
            rounds=[],
        )

    members = [member(0.07, 0.05, False), member(0.06, 0.05, True), member(0.04, 0.05, False)]
    rates = ModelPopulation(plan=PLAN, members=members).rates("curiosity")
    assert rates is not None
    assert (rates[0].false_alarms.count, rates[0].detected.count, rates[0].auc) == (1, 1, 0.5)
    mixed = ModelPopulation(plan=PLAN, members=[*members, member(0.72, 0.8, False)])
    for ask in (mixed.rates, mixed.known):
        with pytest.raises(InvalidInput, match="2 thresholds of curiosity"):
            ask("curiosity")


def test_members_tell_what_they_are_and_make_a_population(models: dict[str, Path]) -> None:
    population = ModelPopulation(plan=PLAN, members=[member_of(folder, PLAN) for folder in models.values()])
    honest, curious = population.members
    assert (honest.dishonest, curious.dishonest) == (False, True)
    assert honest.groups == {
        "data": "digits",
        "behaviour": "honest",
        "net": "conv-2d",
        "width": 0.5,
        "epochs": 2,
    }
    assert curious.groups["ratio"] == "0.5/0.5"
    assert honest.rounds[-1] == honest.scores["viciousness"]
    assert population.known("curiosity") is None
    known = population.known("viciousness")
    assert known is not None
    assert (known.honest, known.dishonest) == (
        [honest.scores["viciousness"]],
        [curious.scores["viciousness"]],
    )
    rates = population.rates("viciousness")
    assert rates is not None
    assert set(rates[1]) == {"behaviour", "ratio"}  # those in which they differ
    assert ModelPopulation.model_validate_json(population.model_dump_json()) == population
    with pytest.raises(InvalidArtifact):
        member_of(models["honest"] / "nowhere", PLAN)
