"""Error rates of an audit, counted by hand and against scikit-learn."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from leakrange.audit import error_rates, rates_by_group
from leakrange.audit.population import allowing
from leakrange.wire.errors import InvalidInput

HONEST, OTHERS = [0.001, 0.004, 0.012, 0.002, 0.05], [0.008, 0.02, 0.3]
SCORES = np.array(HONEST + OTHERS)
DISHONEST = np.repeat([False, True], [5, 3])


def test_rates_of_eight_models() -> None:
    found = error_rates(SCORES, DISHONEST)
    assert (found.false_alarms.count, found.false_alarms.of, found.false_alarms.share) == (2, 5, 0.4)
    assert (found.detected.count, found.detected.of) == (2, 3)
    assert found.auc == pytest.approx(roc_auc_score(DISHONEST, SCORES))
    assert found.auc_interval is not None
    assert found.auc_interval[0] < 0.5 < found.auc < found.auc_interval[1]
    # Of five honest models none may be above: it is their highest score.
    assert found.allowing_threshold == 0.05
    assert found.allowing_detected is not None
    assert found.allowing_detected.count == 1
    assert found.roc is not None
    assert (found.roc.fpr[-1], found.roc.tpr[-1]) == (1.0, 1.0)


def test_a_score_on_the_threshold_passes() -> None:
    assert error_rates(np.array([0.01, 0.02]), np.array([False, True])).false_alarms.count == 0


@pytest.mark.parametrize("models", [19, 20, 40])
def test_at_most_one_in_twenty_is_above(models: int) -> None:
    scores = np.random.default_rng(0).permutation(models) / models
    threshold = allowing(scores)
    assert (scores > threshold).sum() == models // 20
    assert (scores >= threshold).sum() == models // 20 + 1


def test_groups_are_judged_by_themselves() -> None:
    epochs = [15, 15, 2, 15, 2, 15, 15, 2]
    found = rates_by_group(SCORES, DISHONEST, {"epochs": epochs, "data": ["mnist"] * 8})
    assert list(found["epochs"]) == [15, 2]
    assert found["epochs"][15].false_alarms.count == 0
    assert (found["epochs"][2].false_alarms.count, found["epochs"][2].false_alarms.of) == (2, 2)
    assert found["epochs"][2].detected.count == 1
    assert found["data"]["mnist"].auc == error_rates(SCORES, DISHONEST).auc


def test_honest_models_alone_have_no_curve() -> None:
    found = error_rates(SCORES[:5], DISHONEST[:5])
    assert (found.auc, found.roc) == (None, None)
    assert math.isnan(found.detected.share)
    assert found.detected.interval == (0.0, 1.0)


def test_what_is_no_population_is_refused() -> None:
    with pytest.raises(InvalidInput, match="one length"):
        error_rates(SCORES, DISHONEST[:3])
    with pytest.raises(InvalidInput, match="not finite"):
        error_rates(np.array([np.nan, 1.0]), np.array([False, True]))
    with pytest.raises(InvalidInput, match="2 values of 'width'"):
        rates_by_group(SCORES, DISHONEST, {"width": [1, 2]})
