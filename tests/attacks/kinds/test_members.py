"""A membership trial's figures, and the truth that they stand on."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.attacks.kinds import kinds
from leakrange.attacks.kinds.cell import Needs
from leakrange.attacks.kinds.membership import Candidates, judge_members
from leakrange.attacks.kinds.trial import Uploaded
from leakrange.data.splits import draw_canaries
from leakrange.jobs.recipe import DataSpec, Subset, TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.metrics import Estimate, auc_interval, membership_report, wilson_interval
from leakrange.metrics.one_run import epsilon_of_guesses
from leakrange.scenario.stored_trial import trained_on
from leakrange.wire.errors import LeakrangeError
from tests.attacks.kinds.ready import MadeUp, MadeUpModel, judged_by

DISCOVERIES = ("power_at_fdr", "called_at_fdr", "right_at_fdr")
"""Figures that tests of their own are about."""
DIGITS = DataSpec(name="digits", subset=Subset(pool=60))


def test_figures_are_those_of_the_report_and_of_its_test_half() -> None:
    rng = np.random.default_rng(0)
    members = np.arange(200) < 100
    scores = rng.normal(size=200) + 1.5 * members  # 100 others: too few for a rate of 0.1 %
    judged = judge_members(
        MadeUp(seed=3), scores, members, utility={"honesty": Estimate(value=0.75)}, spent=200
    )
    report = membership_report(scores, members, 3)
    assert (judged.victims, judged.spent) == (100, 200)
    assert {name: estimate.value for name, estimate in judged.metrics.items()} == {
        "honesty": 0.75,
        # Half of either kind: accuracy and balanced accuracy are one.
        "curiosity": pytest.approx(report.balanced_accuracy),
        "majority": 0.5,
        "nag": pytest.approx(2 * report.balanced_accuracy - 1),
        "advantage": pytest.approx(2 * report.balanced_accuracy - 1),
        "auc": report.auc,
        "unsigned_auc": report.unsigned_auc,
        "tpr_at_001": report.tpr_at_001,
        "balanced_accuracy": report.balanced_accuracy,
        "precision": report.precision,
        "recall": report.recall,
        "f1": report.f1,
        **{name: judged.metrics[name].value for name in DISCOVERIES if name in judged.metrics},
        "records": 200,
    }
    auc = judged.metrics["auc"]
    assert (auc.low, auc.high) == report.auc_interval
    confusion, roc = judged.views["confusion"], judged.views["roc"]
    assert np.trace(confusion) / np.sum(confusion) == pytest.approx(judged.metrics["curiosity"].value)
    assert (roc["fpr"][0], roc["tpr"][-1]) == (0.0, 1.0)


def test_the_interval_of_an_attack_on_people_is_over_people() -> None:
    rng = np.random.default_rng(0)
    person = np.tile(np.arange(20), 10)  # in sessions: one answer about everybody, then the next
    members = person < 10
    scores = rng.normal(size=20)[person] + 0.1 * rng.normal(size=200) + 0.5 * members
    judged = judge_members(MadeUp(seed=3), scores, members, utility={}, spent=200, group=person)
    auc = judged.metrics["auc"]
    assert (auc.low, auc.high) == pytest.approx(auc_interval(auc.value, 10, 10), abs=0.05)
    curiosity = judged.metrics["curiosity"]  # of half of the records, of nearly everybody
    assert curiosity.low is not None
    assert curiosity.high is not None
    assert curiosity.high - curiosity.low > 0.3 > 2 * (wilson_interval(70, 100)[1] - 0.7)


def test_scores_that_are_too_few_or_no_numbers_are_refused() -> None:
    members = np.arange(8) < 4
    for scores in (np.zeros(7), np.full(8, np.nan)):
        with pytest.raises(LeakrangeError, match="scores"):
            judge_members(MadeUp(seed=3), scores, members, utility={}, spent=8)


def test_the_truth_is_the_models_own_record() -> None:
    assert trained_on({"members": [0, 3]}, 5).tolist() == [True, False, False, True, False]
    for record in ({}, {"members": [5]}, {"members": "all"}):
        with pytest.raises(LeakrangeError, match="which of 5"):
            trained_on(record, 5)


def test_who_averages_pays_for_each_draw_and_defends_its_shadows_as_often_as_it_asks() -> None:
    """A mean of two noisy answers is no single noisy answer: shadows are to be like the target."""
    spans = {
        "records": Span(data=DIGITS, split="pool", start=0, stop=60),
        "population": Span(data=DIGITS, split="auxiliary", start=0, stop=20),
    }
    asked = {name: span.model_dump(mode="json") for name, span in spans.items()}
    trial = MadeUp(
        needs=Needs(
            probes={"records": ["pool1", "pool2"], "population": ["q1", "q2"]},
            shadows=["one", "other"],
            asked={**asked, "defence": [{"noise": {"scale": 0.5}}]},
        ),
        probes={"records": [["a", "b"]], "population": [["c", "d"]]},
        trained_on=tuple(range(30)),
        found={"scores": np.linspace(1, 0, 60, dtype=np.float32)},
    )
    trial.uploaded = Uploaded([{"y": [0, 1]}], np.array([0, 0]), None)
    judged = judged_by(kinds["membership"](), trial)
    assert judged.spent == 2 * (60 + 20)
    assert (judged.metrics["auc"].value, judged.metrics["honesty"].value) == (1.0, 0.5)
    evidence = trial.evidence
    assert isinstance(evidence, Candidates)
    assert (evidence.draws, evidence.defence) == (2, [{"noise": {"scale": 0.5}}])
    assert [(each.records, each.population) for each in evidence.shadows] == [
        ("one on pool", "one on auxiliary"),
        ("other on pool", "other on auxiliary"),
    ]


def test_a_pool_with_canaries_has_a_bound_of_what_its_provider_promised() -> None:
    """They are judged beside all records, by the truth at their own places."""
    data = DataSpec(name="digits", seed=3, subset=Subset(pool=600, canaries=400))
    assert data.subset is not None
    places = draw_canaries(data.subset, 3)
    rng = np.random.default_rng(1)
    members = rng.random(600) < 0.5
    members[places] = np.arange(400) % 2 == 0
    scores = rng.random(600).astype(np.float32)
    scores[places] += 2.0 * members[places]  # canaries alone are told
    records = Span(data=data.of_everyone(), split="pool", start=0, stop=600)
    trial = MadeUp(
        needs=Needs(probes={"records": ["p"]}, asked={"records": records.model_dump(mode="json")}),
        model=MadeUpModel(TrainingRecipe(data=data, behaviour="honest"), target="digit"),
        probes={"records": [["0" * 64]]},
        trained_on=tuple(np.flatnonzero(members).tolist()),
        ledger={"epsilon": 1.0, "delta": 1e-6},
        found={"scores": scores},
        uploaded=Uploaded([{"digit": [0, 1], "y": [0, 1]}], np.array([0, 0]), None),
    )
    figures = judged_by(kinds["membership"](), trial)
    assert figures.metrics["promise_holds"].value == 0.0
    assert figures.metrics["exposed_auc"].value > 0.99 > figures.metrics["auc"].value
    promise = figures.views["promise"]
    assert promise["found"] == pytest.approx(epsilon_of_guesses(400, 400, 400, 1e-6, 0.05 / 6))
    assert (promise["promised"], promise["delta"], promise["canaries"]) == (1.0, 1e-6, 400)
    trial.ledger = {}
    unpromised = judged_by(kinds["membership"](), trial).metrics
    assert "epsilon_promised" not in unpromised
    assert unpromised["epsilon_found"].value > 4.0
