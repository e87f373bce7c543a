"""Attacks on answers that were collected elsewhere: they win where they must, and lose where they must."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.attacks.attack import AttributeAttack, Evidence, Inference
from leakrange.attacks.attribute_nets import AttributeInferenceParameters
from leakrange.attacks.kinds.recorded import recorded_attribute, recorded_members
from leakrange.attacks.kinds.trial import Judged
from leakrange.attacks.membership.boundary import BoundaryDistance
from leakrange.attacks.membership.membership import LossThreshold
from leakrange.attacks.membership.quantile import Quantile
from leakrange.attacks.membership.shadows import Lira
from leakrange.data.importing.answer_columns import AnswerColumns
from leakrange.data.importing.answers import RecordedAnswers, read_answers
from leakrange.report import render
from leakrange.report.contents import read
from leakrange.report.table import to_csv
from leakrange.scenario.recorded import recorded_results
from leakrange.wire.errors import InvalidInput
from tests.data.answered import scored


def answered(folder: Path, columns: AnswerColumns, count: int = 300, **how: Any) -> RecordedAnswers:
    np.savez(folder / "scores.npz", **scored(count, **how))
    return read_answers(folder / "scores.npz", columns)


MEMBERS = AnswerColumns(("p_*",), member="in_training", target="label")


def judged(result: Judged | str) -> Judged:
    assert isinstance(result, Judged), result
    return result


def test_members_are_told_by_how_sure_a_model_is(tmp_path: Path) -> None:
    results = recorded_results(answered(tmp_path, MEMBERS))
    [trial] = results.trials
    assert (trial.attack, trial.sensitive, trial.behaviour, trial.spent) == (
        "loss-threshold",
        "membership",
        "recorded",
        0,
    )
    auc = trial.metrics["auc"]
    assert auc.low is not None
    assert 0.7 < auc.low < auc.value < 0.95
    assert "beyond_blind" in trial.metrics
    contents = read(results)
    assert len(contents.findings.leaking()) == 1
    sentence = contents.sentences[0]
    assert sentence.startswith("The recorded provider “scores.npz” leaks: from its outputs the strongest")
    assert f"{auc.value:.3f}" in sentence
    assert "honest" not in " ".join(contents.sentences).lower()


def test_the_report_names_what_was_not_made_and_gives_no_scenario_to_repeat(tmp_path: Path) -> None:
    results = recorded_results(answered(tmp_path, MEMBERS))
    page = render(results)
    assert "not made: base, label-votes, lira, oslo, rmia (it trains models of its own" in page
    assert "save the scenario above" not in page
    assert results.environment["SHA-256 of scores.npz"] in page
    assert "values p_*; member in_training; target label" in page
    assert to_csv(results).count("scores.npz/loss-threshold,") == 1


def test_no_leak_is_found_where_nothing_leaks(tmp_path: Path) -> None:
    contents = read(recorded_results(answered(tmp_path, MEMBERS, 3000, surer=0.0)))
    assert contents.sentences[0].startswith("The recorded provider “scores.npz” leaks little: ")
    assert not contents.findings.leaking()


def test_decisions_stand_for_classes_that_are_not_known(tmp_path: Path) -> None:
    without = answered(tmp_path, AnswerColumns(("p_*",), member="in_training"))
    result = judged(recorded_members(LossThreshold, without, 0))
    confident = without.values.max(axis=1)
    members = np.asarray(without.members)
    by_confidence = float((confident[members, None] > confident[~members]).mean())
    assert result.metrics["auc"].value == pytest.approx(by_confidence, abs=0.01)
    assert "honesty" not in result.metrics
    assert "blind_auc" not in result.metrics
    notes = " ".join(recorded_results(without).data_notes["scores.npz"])
    assert "each decision stands for one" in notes
    assert "no control was made" in notes


def test_users_accuracy_is_that_of_records_that_were_not_trained_on(tmp_path: Path) -> None:
    answers = answered(tmp_path, MEMBERS)
    others = ~np.asarray(answers.members)
    right = np.asarray(answers.decisions)[others] == np.asarray(answers.labels)[others]
    assert judged(recorded_members(LossThreshold, answers, 0)).metrics["honesty"].value == right.mean()


def test_members_who_differ_by_themselves_are_no_leak_beside_what_is_known(tmp_path: Path) -> None:
    columns = scored(2000, surer=0.0)
    sure = np.maximum(np.maximum(columns["p_low"], columns["p_mid"]), columns["p_high"])  # type: ignore[call-overload]
    columns["in_training"] = (sure > np.median(sure)).astype(int)
    columns["region"] = np.where(sure > np.median(sure), "north", "south")
    np.savez(tmp_path / "scores.npz", **columns)
    told = replace(MEMBERS, known=("region",))
    beside = recorded_results(read_answers(tmp_path / "scores.npz", told)).trials[0].metrics
    assert beside["auc"].value > 0.7
    assert beside["blind_auc"].value == 1.0
    assert beside["beyond_blind"].value < 0
    assert not read(recorded_results(read_answers(tmp_path / "scores.npz", told))).findings.leaking()


class Seen(AttributeAttack):
    """Keeps its evidence, and guesses the first class."""

    consumes = ("softmax",)
    Parameters = AttributeInferenceParameters
    evidence: ClassVar[list[Evidence]] = []

    def infer(self, evidence: Evidence) -> Inference:
        self.evidence.append(evidence)
        scores = np.zeros((len(evidence.observed), evidence.classes), dtype=np.float32)
        scores[:, 0] = evidence.observed[:, 0]
        return Inference(scores.argmax(axis=1), scores)


def test_an_attacker_learns_from_other_people_than_it_judges(tmp_path: Path) -> None:
    answers = answered(tmp_path, AnswerColumns(("p_*",), hidden="gender"))
    people = np.arange(300) // 3
    result = judged(recorded_attribute(Seen, replace(answers, group=people), 0))
    evidence = Seen.evidence[-1]
    rows = {tuple(values): row for row, values in enumerate(answers.values.tolist())}
    lessons = [rows[tuple(values)] for values in evidence.auxiliary.tolist()]
    victims = [rows[tuple(values)] for values in evidence.observed.tolist()]
    assert sorted(lessons + victims) == list(range(300))
    assert 100 < len(lessons) < 140
    assert not set(people[lessons]) & set(people[victims])
    assert evidence.auxiliary_group is not None
    assert evidence.auxiliary_group.tolist() == people[lessons].tolist()
    assert evidence.auxiliary_labels.tolist() == np.asarray(answers.hidden).item().values[lessons].tolist()
    assert result.victims == len(victims)


def test_an_attribute_is_read_beyond_what_decisions_tell(tmp_path: Path) -> None:
    columns = AnswerColumns(("p_*",), hidden="gender", target="label")
    trials = {each.attack: each for each in recorded_results(answered(tmp_path, columns, 160)).trials}
    assert set(trials) == {"attribute-inference", "attribute-nets"}
    metrics = trials["attribute-inference"].metrics
    assert metrics["auc"].value > 0.7
    assert metrics["imputation_auc"].value >= 0.5
    assert trials["attribute-inference"].sensitive == "gender"
    assert trials["attribute-inference"].views["panel"]


def test_attacks_that_need_questions_are_refused_in_words(tmp_path: Path) -> None:
    answers = answered(tmp_path, MEMBERS)
    assert "trains models of its own" in str(recorded_members(Lira, answers, 0))
    assert "chooses each question by the answers" in str(recorded_members(BoundaryDistance, answers, 0))
    assert "records that nobody was trained on" in str(recorded_members(Quantile, answers, 0))
    assert "no column holds a hidden attribute" in str(recorded_attribute(Seen, answers, 0))
    vectors = replace(answers, release="features")
    assert "it reads logits or softmax, and these are features" in str(
        recorded_members(LossThreshold, vectors, 0)
    )
    with pytest.raises(InvalidInput, match=r"no attack can be made on scores\.npz") as refused:
        recorded_results(vectors)
    reasons = {each["path"]: each["message"] for each in refused.value.extra["mistakes"]}
    assert [names for names in reasons if "lira" in names] == [
        "base, boundary, label-votes, lira, loss-threshold, oslo, quantile, rmia, stolen-model"
    ]


@pytest.mark.parametrize("people", [np.zeros(40, dtype=int), np.arange(40) // 20])
def test_records_of_one_or_two_people_are_judged_or_refused_in_words(
    tmp_path: Path, people: NDArray[np.int64]
) -> None:
    columns = AnswerColumns(("p_*",), member="in_training", hidden="gender", target="label")
    answers = replace(answered(tmp_path, columns, 40), group=people)
    for result in (recorded_members(LossThreshold, answers, 0), recorded_attribute(Seen, answers, 0)):
        assert isinstance(result, Judged) or "too few records, or people" in result


def test_a_handful_of_records_is_refused_in_words(tmp_path: Path) -> None:
    columns = AnswerColumns(("p_*",), member="in_training", hidden="gender", target="label")
    answers = answered(tmp_path, columns, 6)
    alone = np.arange(6) == 2
    assert "no two members" in str(recorded_members(LossThreshold, replace(answers, members=alone), 0))
    with pytest.raises(InvalidInput) as refused:
        recorded_results(replace(answers, members=alone))
    assert any("of 6 records is known" in each["message"] for each in refused.value.extra["mistakes"])
