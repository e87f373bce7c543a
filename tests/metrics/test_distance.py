from __future__ import annotations

from typing import Any

import numpy as np
from scipy.spatial import distance

from leakrange.metrics import pair_distances, unit_length
from leakrange.wire.schemas import Distance


def test_distances_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50, 12)).astype(np.float32)
    a[0] = b[0]
    assert pair_distances(a, b, "euclidean")[0] == 0.0
    kinds: tuple[tuple[Distance, Any], ...] = (
        ("euclidean", distance.euclidean),
        ("cosine", distance.cosine),
    )
    for kind, theirs in kinds:
        expected = [theirs(x.astype(float), y.astype(float)) for x, y in zip(a, b, strict=True)]
        np.testing.assert_allclose(pair_distances(a, b, kind), expected, rtol=1e-5, atol=1e-6)
    zero = np.zeros((1, 12), np.float32)
    assert pair_distances(zero, b[:1], "cosine").tolist() == [1.0]
    assert unit_length(zero).tolist() == zero.tolist()
