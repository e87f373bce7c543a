from __future__ import annotations

import itertools

import numpy as np
import pytest

from leakrange.federation.updates import Update, fedavg


def test_the_mean_is_weighed_by_samples_as_by_hand() -> None:
    updates = [
        Update(4, 10, {"w": np.array([[1.0, 2.0]], np.float32), "steps": np.array(3)}),
        Update(1, 30, {"w": np.array([[5.0, -2.0]], np.float32), "steps": np.array(7)}),
        Update(2, 60, {"w": np.array([[0.0, 1.0]], np.float32), "steps": np.array(5)}),
    ]
    found = fedavg(updates)
    # 0.1·1 + 0.3·5 + 0.6·0, 0.1·2 - 0.3·2 + 0.6·1; 0.1·3 + 0.3·7 + 0.6·5
    np.testing.assert_allclose(found["w"], [[1.6, 0.2]], rtol=1e-6)
    assert found["w"].dtype == np.float32
    assert found["steps"] == 5
    assert found["steps"].dtype == updates[0].shared["steps"].dtype


def test_who_answered_first_changes_no_bit() -> None:
    rng = np.random.default_rng(0)
    updates = [Update(device, int(rng.integers(1, 99)), {"w": rng.normal(size=50)}) for device in range(5)]
    means = {fedavg(order)["w"].tobytes() for order in itertools.permutations(updates)}
    assert len(means) == 1


def test_without_updates_there_is_no_mean() -> None:
    with pytest.raises(ValueError, match="nothing"):
        fedavg([])
