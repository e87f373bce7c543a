import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.metrics.roc import most_accurate_threshold

samples = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 1)), min_size=1, max_size=30)


@given(samples)
def test_no_threshold_does_better_and_the_accuracy_is_its_own(pairs: list[tuple[int, int]]) -> None:
    values, labels = np.array(pairs, dtype=np.float64).T / [[4.0], [1.0]]
    tau, accuracy = most_accurate_threshold(values, labels.astype(int))
    assert np.mean((values > tau) == labels) == pytest.approx(accuracy)
    for other in np.concatenate([[-1.0], np.unique(values)]):
        assert np.mean((values > other) == labels) <= accuracy + 1e-12


def test_the_cut_lies_half_way_between_the_classes() -> None:
    tau, accuracy = most_accurate_threshold(np.array([0.1, 0.6, 0.2, 0.5]), np.array([0, 1, 0, 1]))
    assert tau == pytest.approx(0.35)
    assert accuracy == 1.0


@pytest.mark.parametrize("only", [0, 1])
def test_one_class_alone_is_told_without_a_mistake(only: int) -> None:
    values = np.array([0.3, 0.3, 0.4])
    tau, accuracy = most_accurate_threshold(values, np.full(3, only))
    assert accuracy == 1.0
    assert ((values > tau) == only).all()


def test_float32_entropies_keep_their_order_around_the_threshold() -> None:
    values = np.array([0.1, np.nextafter(np.float32(0.1), np.float32(1))], dtype=np.float32)
    tau, accuracy = most_accurate_threshold(values, np.array([0, 1]))
    assert accuracy == 1.0
    assert ((values.astype(np.float64) > tau) == [False, True]).all()


@pytest.mark.parametrize("seed", range(4))
def test_balanced_it_has_the_best_mean_of_both_classes_accuracies(seed: int) -> None:
    draw = np.random.default_rng(seed)
    labels = (draw.random(90) < 0.15).astype(int)
    values = (draw.normal(size=90) + 1.5 * labels).round(1)  # with ties
    tau, accuracy = most_accurate_threshold(values, labels, balanced=True)

    def balanced(cut: float) -> float:
        right = (values > cut) == labels
        return float((right[labels == 1].mean() + right[labels == 0].mean()) / 2)

    assert accuracy == pytest.approx(balanced(tau))
    assert accuracy == pytest.approx(max(balanced(cut) for cut in (-9.0, *values)))


@pytest.mark.parametrize("only", [0, 1])
def test_balanced_a_class_that_nobody_has_counts_for_nothing(only: int) -> None:
    values = np.array([0.3, 0.1, 0.2])
    tau, accuracy = most_accurate_threshold(values, np.full(3, only), balanced=True)
    assert ((values > tau) == only).all()
    assert accuracy == 1.0
