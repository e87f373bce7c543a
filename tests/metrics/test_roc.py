import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import auc as reference_area
from sklearn.metrics import roc_auc_score
from sklearn.metrics import roc_curve as reference_curve

from leakrange.metrics import auc, mean_auc, mean_roc_curve, roc_curve, tpr_at_fpr


def test_a_case_with_a_tie_worked_by_hand() -> None:
    # positives .9, .5; negatives .5, .1: of four pairs three are won and one is tied
    scores, truth = np.array([0.9, 0.5, 0.5, 0.1]), np.array([True, True, False, False])
    assert auc(scores, truth) == pytest.approx(3.5 / 4)
    curve = roc_curve(scores, truth)
    assert curve.fpr.tolist() == [0, 0, 0.5, 1]
    assert curve.tpr.tolist() == [0, 0.5, 1, 1]


# few distinct scores, so that ties are the rule
samples = st.lists(st.tuples(st.integers(0, 6), st.booleans()), min_size=2, max_size=60)


@given(samples)
def test_agrees_with_scikit_learn_under_ties(pairs: list[tuple[int, bool]]) -> None:
    scores = np.array([score / 7 for score, _ in pairs])
    truth = np.array([positive for _, positive in pairs])
    assume(0 < truth.sum() < len(truth))
    assert auc(scores, truth) == pytest.approx(roc_auc_score(truth, scores))
    fpr, tpr, _ = reference_curve(truth, scores, drop_intermediate=False)
    curve = roc_curve(scores, truth)
    np.testing.assert_allclose([curve.fpr, curve.tpr], [fpr, tpr])


def test_true_positives_at_few_false_ones_are_never_interpolated() -> None:
    # ten negatives 0..9, five positives: two above all negatives, one between the two highest, two at the end
    scores = np.array([*range(10), 20.0, 30.0, 8.5, -1.0, -2.0])
    truth = np.arange(15) >= 10
    assert tpr_at_fpr(scores, truth, 0.0) == pytest.approx(2 / 5)
    assert tpr_at_fpr(scores, truth, 0.099) == pytest.approx(2 / 5)  # a tenth is the next step
    assert tpr_at_fpr(scores, truth, 0.1) == pytest.approx(3 / 5)
    assert tpr_at_fpr(scores, truth, 1.0) == 1.0
    with pytest.raises(ValueError, match="false positive rate"):
        tpr_at_fpr(scores, truth, 1.5)


def test_three_classes_are_averaged_one_against_the_rest(rng: np.random.Generator) -> None:
    labels = rng.integers(0, 3, 200)
    scores = rng.random((200, 3)) + np.eye(3)[labels]
    scores /= scores.sum(axis=1, keepdims=True)
    expected = roc_auc_score(labels, scores, multi_class="ovr", average="macro")
    assert mean_auc(scores, labels) == pytest.approx(expected)


def test_two_classes_give_the_area_of_class_one(rng: np.random.Generator) -> None:
    labels = rng.integers(0, 2, 200)
    scores = rng.random((200, 2)) + np.eye(2)[labels]
    assert mean_auc(scores, labels) == pytest.approx(roc_auc_score(labels, scores[:, 1] - scores[:, 0]))


def test_a_class_that_nobody_has_is_left_out_of_the_mean(rng: np.random.Generator) -> None:
    labels = rng.integers(0, 2, 100)
    scores = rng.random((100, 3))
    assert mean_auc(scores, labels) == pytest.approx(
        np.mean([roc_auc_score(labels == c, scores[:, c]) for c in (0, 1)])
    )
    assert mean_auc(scores, np.zeros(100, int)) is None
    assert mean_auc(scores[:, :2], np.zeros(100, int)) is None


def test_the_mean_curve_of_three_classes_worked_by_hand() -> None:
    # Class 0's one user ties with one other; of class 1 all have the same score; class 2's one user comes
    # behind two of three others: (0,0) (1/3,1) (1,1), then the diagonal, then (0,0) (2/3,0) (2/3,1) (1,1).
    labels = np.array([0, 1, 1, 2])
    scores = np.array([[0.5, 0.3, 0.5], [0.5, 0.3, 0.4], [0.1, 0.3, 0.1], [0.1, 0.3, 0.2]])
    curve = mean_roc_curve(scores, labels)
    assert curve is not None
    assert curve.fpr.tolist() == pytest.approx([0, 1 / 3, 2 / 3, 2 / 3, 1])
    assert curve.tpr.tolist() == pytest.approx([0, 4 / 9, 5 / 9, 8 / 9, 1])
    assert mean_auc(scores, labels) == pytest.approx((5 / 6 + 1 / 2 + 1 / 3) / 3)


many = st.integers(3, 5).flatmap(
    lambda classes: st.lists(
        st.tuples(
            st.integers(0, classes - 1), st.lists(st.integers(0, 6), min_size=classes, max_size=classes)
        ),
        min_size=2,
        max_size=60,
    )
)


@given(many)
def test_the_mean_curve_is_the_mean_of_scikit_learns_and_its_area_the_mean_auc(
    users: list[tuple[int, list[int]]],
) -> None:
    labels = np.array([label for label, _ in users])
    scores = np.array([score for _, score in users]) / 7
    assume(len(np.unique(labels)) > 1)
    curve, area = mean_roc_curve(scores, labels), mean_auc(scores, labels)
    assert curve is not None
    assert area is not None
    assert reference_area(curve.fpr, curve.tpr) == pytest.approx(area, abs=1e-9)
    assert (curve.fpr[0], curve.tpr[0], curve.fpr[-1], curve.tpr[-1]) == (0, 0, 1, 1)
    assert (np.diff(curve.fpr) >= 0).all()
    assert (np.diff(curve.tpr) >= 0).all()
    assert (np.diff(curve.fpr) + np.diff(curve.tpr) > 0).all()

    # Between the bends, where no class steps, each class's curve may be interpolated.
    bends = np.unique(curve.fpr)
    middles = (bends[1:] + bends[:-1]) / 2
    per_class = [
        np.interp(middles, *reference_curve(labels == c, scores[:, c], drop_intermediate=False)[:2])
        for c in np.unique(labels)
    ]
    np.testing.assert_allclose(np.interp(middles, curve.fpr, curve.tpr), np.mean(per_class, axis=0))


def test_the_mean_curve_of_two_classes_is_that_of_class_one(rng: np.random.Generator) -> None:
    labels = rng.integers(0, 2, 500)
    scores = rng.random((500, 2)) + np.eye(2)[labels] / 2
    for points in (None, 101):
        mean = mean_roc_curve(scores, labels, points)
        assert mean is not None
        whole = roc_curve(scores[:, 1] - scores[:, 0], labels == 1, points)
        assert (mean.fpr.tolist(), mean.tpr.tolist()) == (whole.fpr.tolist(), whole.tpr.tolist())
    assert mean_roc_curve(scores, np.zeros(500, int)) is None


def test_scores_that_say_nothing_draw_the_diagonal_however_unbalanced_the_classes() -> None:
    labels = np.repeat([0, 1, 2], [700, 200, 100])
    scores = np.tile([0.7, 0.2, 0.1], (1000, 1))
    curve = mean_roc_curve(scores, labels, 101)
    assert curve is not None
    assert (curve.fpr.tolist(), curve.tpr.tolist()) == ([0, 1], [0, 1])


def test_a_thinned_mean_curve_keeps_its_ends_and_nearly_its_area(rng: np.random.Generator) -> None:
    labels = rng.choice(7, 5000, p=[0.4, 0.25, 0.15, 0.1, 0.05, 0.03, 0.02])
    scores = rng.random((5000, 7)) + np.eye(7)[labels] / 2
    thin = mean_roc_curve(scores, labels, 101)
    assert thin is not None
    assert len(thin.fpr) <= 101
    assert (thin.fpr[0], thin.tpr[0], thin.fpr[-1], thin.tpr[-1]) == (0, 0, 1, 1)
    assert reference_area(thin.fpr, thin.tpr) == pytest.approx(mean_auc(scores, labels), abs=0.002)


def test_a_thinned_curve_keeps_its_ends_its_order_and_nearly_its_area(rng: np.random.Generator) -> None:
    truth = rng.random(5000) < 0.4
    scores = rng.normal(size=5000) + truth
    whole, thin = roc_curve(scores, truth), roc_curve(scores, truth, points=101)
    assert len(thin.fpr) <= 101
    assert (thin.fpr[0], thin.tpr[0], thin.fpr[-1], thin.tpr[-1]) == (0, 0, 1, 1)
    assert (np.diff(thin.fpr) >= 0).all()
    assert (np.diff(thin.tpr) >= 0).all()

    def area(fpr: NDArray[np.float64], tpr: NDArray[np.float64]) -> float:
        return float(np.trapezoid(tpr, fpr))

    assert area(thin.fpr, thin.tpr) == pytest.approx(area(whole.fpr, whole.tpr), abs=0.002)


def test_what_has_no_curve_is_refused() -> None:
    with pytest.raises(ValueError, match="both classes"):
        roc_curve(np.array([0.1, 0.2]), np.array([True, True]))
    with pytest.raises(ValueError, match="finite"):
        auc(np.array([0.1, np.nan]), np.array([True, False]))
