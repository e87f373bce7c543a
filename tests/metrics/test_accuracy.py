import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score
from sklearn.metrics import confusion_matrix as reference_matrix

from leakrange.metrics import accuracy, confusion_matrix, majority_share, nag


def test_a_case_worked_by_hand() -> None:
    labels = np.array([0, 0, 1, 2, 2, 2])
    predicted = np.array([0, 1, 1, 2, 2, 0])
    assert accuracy(predicted, labels) == pytest.approx(4 / 6)
    assert confusion_matrix(predicted, labels, 3).tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 2]]
    assert majority_share(labels, 3) == 0.5


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=50))
def test_agrees_with_scikit_learn(pairs: list[tuple[int, int]]) -> None:
    predicted, labels = np.array(pairs).T
    assert accuracy(predicted, labels) == pytest.approx(accuracy_score(labels, predicted))
    expected = reference_matrix(labels, predicted, labels=range(5))
    assert confusion_matrix(predicted, labels, 5).tolist() == expected.tolist()


def test_the_gain_is_none_at_the_majority_half_way_and_full() -> None:
    assert nag(0.6, 0.6) == 0.0
    assert nag(0.8, 0.6) == pytest.approx(0.5)
    assert nag(1.0, 0.6) == 1.0


def test_the_gain_is_never_negative_and_survives_a_single_class() -> None:
    assert nag(0.4, 0.6) == 0.0
    assert nag(1.0, 1.0) == 0.0


def test_arrays_that_do_not_belong_together_are_refused() -> None:
    with pytest.raises(ValueError, match="one length"):
        accuracy(np.array([0, 1]), np.array([0]))
    with pytest.raises(ValueError, match="no labels"):
        accuracy(np.array([], int), np.array([], int))
    with pytest.raises(ValueError, match=r"0\.\.1"):
        confusion_matrix(np.array([0, 2]), np.array([0, 1]), 2)
