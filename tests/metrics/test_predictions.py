import numpy as np
import pytest
from sklearn.metrics import top_k_accuracy_score

from leakrange.metrics import measured
from leakrange.metrics.outcomes import Predictions
from leakrange.metrics.predictions import calibration_error, top_accuracy


def predictions(rng: np.random.Generator, classes: int = 5) -> tuple[np.ndarray, np.ndarray]:
    soft = rng.dirichlet([0.4] * classes, 700)
    return soft, np.array([rng.choice(classes, p=row**0.5 / (row**0.5).sum()) for row in soft])


@pytest.mark.parametrize("k", [1, 3])
def test_top_accuracy_is_scikit_learns(k: int, rng: np.random.Generator) -> None:
    soft, truth = predictions(rng)
    assert top_accuracy(soft, truth, k) == pytest.approx(top_k_accuracy_score(truth, soft, k=k))


def test_of_equal_scores_the_first_class_wins() -> None:
    scores = np.array([[0.0, 1.0, 0.0, 0.0, 0.0]] * 4)
    assert top_accuracy(scores, np.array([0, 2, 3, 1]), 3) == 0.75


def test_the_calibration_error_is_that_of_counting_bin_by_bin(rng: np.random.Generator) -> None:
    soft, truth = predictions(rng)
    soft[:3] = [0.2, 0.2, 0.2, 0.2, 0.2]  # on the upper end of a bin
    soft[3:5] = [0, 0, 1, 0, 0]
    confidence, right = soft.max(axis=1), soft.argmax(axis=1) == truth
    total = 0.0
    for number in range(15):
        inside = (confidence > number / 15) & (confidence <= (number + 1) / 15)
        if inside.any():
            total += inside.sum() * abs(right[inside].mean() - confidence[inside].mean())
    assert calibration_error(soft, truth) == pytest.approx(total / 700)
    assert total / 700 > 0.05


def test_users_with_a_known_class_are_counted(rng: np.random.Generator) -> None:
    soft, truth = predictions(rng)
    found = measured(Predictions(np.concatenate([soft, soft[:9]]), np.concatenate([truth, [-1] * 9])))
    assert found["top3"].value == top_accuracy(soft, truth, 3)
    assert found["top3"].low is not None
    assert found["top3"].low < found["top3"].value
    assert found["calibration_error"].value == calibration_error(soft, truth)
    assert measured(Predictions(soft, np.full(700, -1))) == {}


def test_what_a_release_does_not_tell_is_no_figure(rng: np.random.Generator) -> None:
    soft, truth = predictions(rng)
    assert set(measured(Predictions(np.log(soft), truth))) == {"top3"}
    assert set(measured(Predictions(*predictions(rng, 3)))) == {"calibration_error"}
    assert measured(Predictions(-np.sort(-soft)[:, :4], truth)) == {}  # bare top-k


def test_rounded_probabilities_and_a_bare_decision_are_calibrated_as_they_stand(
    rng: np.random.Generator,
) -> None:
    soft, truth = predictions(rng)
    decided = np.eye(5)[soft.argmax(axis=1)]
    assert calibration_error(decided, truth) == pytest.approx((soft.argmax(axis=1) != truth).mean())
    assert calibration_error(np.round(soft, 3), truth) == pytest.approx(
        calibration_error(soft, truth), abs=0.02
    )


def test_what_are_no_predictions_is_refused() -> None:
    with pytest.raises(ValueError, match="must be"):
        top_accuracy(np.zeros((0, 4)), np.zeros(0, int), 3)
    with pytest.raises(ValueError, match=r"0\.\.3"):
        top_accuracy(np.zeros((2, 4)), np.array([1, 4]), 3)
    with pytest.raises(ValueError, match="probabilities"):
        calibration_error(np.full((1, 2), -0.1), np.array([0]))
