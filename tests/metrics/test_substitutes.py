"""How much each substitute is used, against a count by hand and SciPy's entropy."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.stats import entropy

from leakrange.metrics import measured
from leakrange.metrics.substitutes import Uses


def figures(record: np.ndarray) -> dict[str, float]:
    return {name: estimate.value for name, estimate in measured(Uses(record)).items()}


def test_figures_are_those_of_a_count_of_records(rng: np.random.Generator) -> None:
    record = rng.geometric(0.2, size=500) * 7
    counts = Counter(record.tolist())
    found = figures(record)
    assert list(found) == ["support", "use_entropy", "most_used"]
    assert found["support"] == len(counts)
    assert found["use_entropy"] == pytest.approx(entropy(list(counts.values()), base=2))
    assert found["most_used"] == counts.most_common(1)[0][1] / 500


def test_a_single_record_has_no_entropy_and_records_used_alike_have_the_most() -> None:
    assert figures(np.full(9, 4)) == {"support": 1.0, "use_entropy": 0.0, "most_used": 1.0}
    assert figures(np.arange(8).repeat(3)) == {"support": 8.0, "use_entropy": 3.0, "most_used": 0.125}
