import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import (
    balanced_accuracy_score,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
    roc_curve,
)

from leakrange.metrics import auc_interval, best_threshold, membership_report

samples = st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=8, max_size=80)


@settings(deadline=None)
@given(samples, st.integers(0, 2**31))
def test_agrees_with_scikit_learn(pairs: list[tuple[int, bool]], seed: int) -> None:
    scores = np.array([score / 7 for score, _ in pairs])
    members = np.array([member for _, member in pairs])
    assume(2 <= members.sum() <= len(members) - 2)
    report = membership_report(scores, members, seed)
    assert report.auc == pytest.approx(roc_auc_score(members, scores))
    assert report.unsigned_auc == pytest.approx(max(report.auc, 1 - report.auc))
    assert report.auc_interval == auc_interval(report.auc, int(members.sum()), int((~members).sum()))
    assert (report.tpr_at_001, report.tpr_at_0001) == (None, None)  # of so few others
    truth, said = members[report.tested], scores[report.tested] >= report.threshold
    assert report.balanced_accuracy == pytest.approx(balanced_accuracy_score(truth, said))
    assert report.precision == pytest.approx(precision_score(truth, said, zero_division=0))
    assert report.recall == pytest.approx(recall_score(truth, said))
    assert report.f1 == pytest.approx(f1_score(truth, said, zero_division=0))
    np.testing.assert_array_equal(report.guessed, scores >= report.threshold)
    for part in (members, ~members):
        assert (report.tested & part).sum() == (part.sum() + 1) // 2


@settings(deadline=None)
@given(samples)
def test_no_other_threshold_does_better_where_it_was_chosen(pairs: list[tuple[int, bool]]) -> None:
    scores = np.array([score / 7 for score, _ in pairs])
    members = np.array([member for _, member in pairs])
    assume(0 < members.sum() < len(members))
    chosen = balanced_accuracy_score(members, scores >= best_threshold(scores, members))
    others = [balanced_accuracy_score(members, scores >= cut) for cut in np.arange(-0.1, 1.6, 1 / 14)]
    assert chosen == pytest.approx(max(others))


def test_the_threshold_never_sees_the_half_that_is_reported(rng: np.random.Generator) -> None:
    members = np.arange(400) % 2 == 0
    scores = rng.random(400)
    report = membership_report(scores, members, seed=3)
    swapped = scores.copy()
    swapped[report.tested] = 1.0 - members[report.tested]  # whatever happens there
    assert membership_report(swapped, members, seed=3).threshold == report.threshold
    assert (
        0.4 < report.balanced_accuracy < 0.6
    )  # chosen and reported on the same records it is above one half


def test_who_decided_says_member_above_zero_alone() -> None:
    members = np.array([True, True, True, False, False, False])
    report = membership_report(np.array([2.0, 0.0, 0.1, -1.0, 0.0, 0.3]), members, decided=True)
    assert report.guessed.tolist() == [True, False, True, False, False, True]
    assert report.tested.all()
    assert (report.precision, report.recall) == pytest.approx((2 / 3, 2 / 3))


def test_a_thousandth_needs_a_thousand_others() -> None:
    # 2,000 others at 0, ..., 1,999, members above all but 2, all but 3 and all but 20 of them
    scores = np.concatenate([np.arange(2000.0), [1997.5, 1996.5, 1979.5, -1.0]])
    members = np.arange(2004) >= 2000
    report = membership_report(scores, members)
    assert (report.tpr_at_0001, report.tpr_at_001) == (0.25, 0.75)
    fpr, tpr, _ = roc_curve(members, scores, drop_intermediate=False)
    assert report.tpr_at_001 == pytest.approx(tpr[fpr <= 0.01].max())
    assert report.tpr_at_0001 == pytest.approx(tpr[fpr <= 0.001].max())


def test_rates_are_not_measured_on_fewer_others_than_they_take() -> None:
    scores = np.arange(1104.0)
    found = {}
    for others, shared in ((99, 1), (100, 1), (999, 1), (1000, 1), (1000, 2), (1000, 20)):
        members = np.arange(others + 4) >= others
        person = np.where(members, np.arange(others + 4), np.arange(others + 4) // shared)
        report = membership_report(scores[: others + 4], members, person=person)
        found[others, shared] = (report.tpr_at_001 is not None, report.tpr_at_0001 is not None)
    # Twenty records each of fifty others, or two each of 500: people count.
    assert found == {
        (99, 1): (False, False), (100, 1): (True, False), (999, 1): (True, False), (1000, 1): (True, True),
        (1000, 2): (True, False), (1000, 20): (False, False),
    }  # fmt: skip


def test_too_few_records_and_scores_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="two members"):
        membership_report(np.arange(5.0), np.array([True, False, False, False, False]))
    with pytest.raises(ValueError, match="finite"):
        membership_report(np.array([0.1, np.nan, 0.3, 0.4]), np.array([True, False, True, False]))
