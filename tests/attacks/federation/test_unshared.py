from __future__ import annotations

import numpy as np

from leakrange.attacks.federation import filled


def test_what_was_not_shared_has_not_moved() -> None:
    sent = {"w": np.array([[1.0, -2.0]], np.float32), "b": np.array([0.0], np.float32)}
    received = {"w": np.array([[0.0, -2.5]], np.float32), "b": np.array([0.25], np.float32)}
    found = filled(sent, received)
    assert found["w"].tolist() == [[1.0, -2.5]]
    assert found["b"].tolist() == [0.25]
    assert found["w"].dtype == np.float32
