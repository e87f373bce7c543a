from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.metrics.roc import most_accurate_threshold
from leakrange.metrics.verification import verification


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=1, max_size=30))
def test_no_threshold_is_better(pairs: list[tuple[int, bool]]) -> None:
    distances = np.array([d / 4 for d, _ in pairs])
    same = np.array([s for _, s in pairs])

    def right(threshold: float) -> int:
        return int(((distances <= threshold) == same).sum())

    assert right(most_accurate_threshold(distances, ~same)[0]) == max(right(t) for t in [-1.0, *distances])


def test_a_fold_is_judged_by_the_thresholds_of_the_others() -> None:
    # fold 0 and 1 say 1.5; fold 2's own pairs would say 3.5, and are judged by 1.5: one of two is right
    distances = np.array([1.0, 2.0, 1.0, 2.0, 3.0, 4.0])
    same = np.array([True, False, True, False, True, False])
    found = verification(distances, same, np.array([0, 0, 1, 1, 2, 2]))
    assert found.accuracy.tolist() == [1.0, 1.0, 0.5]
    assert found.mean == pytest.approx(np.mean(found.accuracy))
    with pytest.raises(ValueError, match="two folds"):
        verification(distances, same, np.zeros(6, dtype=np.int64))
    with pytest.raises(ValueError, match="finite"):
        verification(np.where(same, np.nan, distances), same, np.array([0, 0, 1, 1, 2, 2]))
