"""A trial's figures, against a case worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from leakrange.metrics import wilson_interval
from leakrange.scenario.results import TrialResult
from leakrange.wire.errors import LeakrangeError
from services.controller.range.judge import Inferred, Observed, judge, registered


@pytest.fixture
def trial() -> TrialResult:
    return TrialResult(
        id="t", kind="attribute", provider="p", data="d", behaviour="honest", release="logits", target="y",
        sensitive="s", defence="none", attack="a", knowledge="unaware", budget=4, seed=0,
    )  # fmt: skip


def _observed() -> Observed:
    return Observed(
        target=np.array([0, 1, 1, 0, 1, -1]),
        sensitive=np.array([0, 0, 1, 1, 0, -1]),
        decisions=np.array([0, 1, 0, 0, 1, 1]),
    )


def _inferred() -> Inferred:
    predicted = np.array([0, 1, 1, 1, 1, 0])
    return Inferred(predicted, np.eye(2, dtype=np.float32)[predicted])


def test_figures_of_all_users(trial: TrialResult) -> None:
    judged = judge(trial, _observed(), _inferred(), 2, spent=500)
    # Five users' s is known, three of them 0; guessed right: users 0, 2, 3. Of five known y four are right.
    assert judged.state == "done"
    assert judged.victims == 5
    assert judged.spent == 500
    assert judged.views["confusion"] == [[1, 2], [0, 2]]
    # Pairs (one, other class): six; the score is higher for class 1 in 2 of 6, equal in 4 of 6.
    assert {name: estimate.value for name, estimate in judged.metrics.items()} == {
        "honesty": pytest.approx(4 / 5),
        "curiosity": pytest.approx(3 / 5),
        "majority": pytest.approx(3 / 5),
        "auc": pytest.approx((2 + 4 / 2) / 6),
        "nag": 0.0,
    }
    curiosity = judged.metrics["curiosity"]
    assert (curiosity.low, curiosity.high) == pytest.approx(wilson_interval(3, 5))


def test_an_inside_attack_sees_no_more_users_than_its_budget(trial: TrialResult) -> None:
    judged = judge(trial, _observed(), _inferred(), 2, seen=2)
    assert (judged.victims, judged.spent) == (2, 2)
    assert (judged.value("curiosity"), judged.value("honesty")) == (0.5, 1.0)
    # Both of them are of class 0, whatever the others are: nobody can do better than to say so.
    assert (judged.value("majority"), judged.value("nag")) == (1.0, 0.0)
    assert judged.views["confusion"] == [[1, 1], [0, 0]]


def test_an_attack_that_skips_users_is_refused(trial: TrialResult) -> None:
    short = Inferred(np.zeros(5, dtype=np.int64), np.zeros((5, 2), dtype=np.float32))
    with pytest.raises(LeakrangeError, match="answered for 5 users"):
        judge(trial, _observed(), short, 2)


def test_the_curve_of_many_classes_has_the_area_that_is_told_beside_it(trial: TrialResult) -> None:
    sensitive = np.repeat([0, 1, 2], [70, 20, 10])
    observed = Observed(np.zeros(100, int), sensitive, np.zeros(100, int))
    # It knows how frequent the classes are, and nothing of anyone.
    prior = np.tile(np.array([0.7, 0.2, 0.1], dtype=np.float32), (100, 1))
    # It knows the rarest class, too.
    knows = prior + np.float32(0.5) * (sensitive == 2)[:, np.newaxis] * np.eye(3, dtype=np.float32)[2]
    for scores, area in ((prior, 0.5), (knows, 2 / 3)):
        judged = judge(trial, observed, Inferred(np.zeros(100, int), scores), 3)
        assert judged.value("auc") == pytest.approx(area)
        assert np.trapezoid(judged.views["roc"]["tpr"], judged.views["roc"]["fpr"]) == pytest.approx(area)


def test_users_of_one_class_have_no_curve(trial: TrialResult) -> None:
    alike = Observed(np.zeros(4, int), np.ones(4, int), np.zeros(4, int))
    for classes in (2, 3):
        judged = judge(trial, alike, Inferred(np.ones(4, int), np.zeros((4, classes), np.float32)), classes)
        assert "auc" not in judged.metrics
        assert "roc" not in judged.views


def test_labels_of_all_sessions_are_joined_in_order() -> None:
    sessions = [{"y": [0, 1], "s": [1, 1]}, {"y": [-1], "s": [0]}]
    assert registered(sessions, "y").tolist() == [0, 1, -1]
    assert registered(sessions, "s").tolist() == [1, 1, 0]


@pytest.mark.parametrize("sessions", [[{"y": [0]}, {"s": [1]}], [{"s": [1]}], [{}]], ids=str)
def test_a_label_that_an_older_edge_client_did_not_register_is_missed_by_name(
    sessions: list[dict[str, list[int]]],
) -> None:
    with pytest.raises(LeakrangeError, match="registered no 'y' of its users") as caught:
        registered(sessions, "y")
    assert "version" in str(caught.value.hint)


def test_users_of_unknown_class_cannot_be_judged(trial: TrialResult) -> None:
    unknown = Observed(np.zeros(2, int), np.full(2, -1), np.zeros(2, int))
    with pytest.raises(LeakrangeError, match="nothing to judge by"):
        judge(trial, unknown, Inferred(np.zeros(2, int), np.zeros((2, 2), np.float32)), 2)
