"""Answers that decay: every further sample of a key is rounded more, by the stated schedule and no other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from leakrange.services.proxy.limits.decaying import Decaying
from leakrange.wire.tensors import JSON, encode_npy
from tests.proxy.conftest import Range, pictures, problem, values
from tests.proxy.servers import clean


def rounded(images: Any, decimals: list[int], endpoint: str = "logits") -> Any:
    """The provider's answers, each rounded to its own number of decimals by Python itself."""
    rows = clean(endpoint, images)
    return np.array(
        [[round(float(one), places) for one in row] for row, places in zip(rows, decimals, strict=True)],
        dtype=np.float32,
    )


def test_the_schedule_falls_step_by_step() -> None:
    assert Decaying(decimals=3, every=2, least=1).schedule(1, 6) == (3, 2, 2, 1, 1, 1)


@pytest.mark.parametrize("accept", ["application/x-npy", JSON])
def test_each_sample_is_rounded_by_how_many_came_before(live: Range, accept: str) -> None:
    live.admin("PUT", "/limits/tired", {"kind": "decaying", "decimals": 3, "every": 4, "least": 1})
    key, other = live.key(limits=["tired"]), live.key(id="other", limits=["tired"])
    images = pictures(6)

    def answered(key: str, count: int) -> Any:
        return values(live.post(key, "logits", encode_npy(images[:count]), accept=accept))

    assert_array_equal(answered(key, 3), rounded(images[:3], [3, 3, 3]))
    assert_array_equal(answered(key, 6), rounded(images, [3, 2, 2, 2, 2, 1]))
    assert_array_equal(answered(key, 2), rounded(images[:2], [1, 1]))
    assert_array_equal(answered(other, 2), rounded(images[:2], [3, 3]))  # each key tires by itself
    assert live.admin("GET", "/limits/tired")["used"] == {"key": 11, "other": 2}


def test_a_repeat_and_a_failure_do_not_tire(live: Range) -> None:
    live.admin("PUT", "/limits/tired", {"kind": "decaying", "decimals": 4, "every": 2})
    key, images = live.key(limits=["tired"]), pictures(2)

    async def fail(path: str) -> int:
        return 500

    live.provider.before = fail
    problem(live.post(key, "logits", encode_npy(images)), 502, "upstream-failed")
    live.provider.before = None
    for _ in range(2):
        got = values(live.post(key, "logits", encode_npy(images), Idempotency_Key="k"))
        assert_array_equal(got, rounded(images, [4, 4]))
    assert_array_equal(live.query(key, images), rounded(images, [3, 3]))


def test_it_comes_after_the_policy_and_leaves_its_noise(live: Range) -> None:
    """Sticky noise is the same at every step: else several draws of it could be averaged."""
    live.policy({"noise": {"scale": 0.5, "sticky": True}})
    free = live.key(id="free")
    live.admin("PUT", "/limits/tired", {"kind": "decaying", "decimals": 3, "every": 2})
    key, images = live.key(limits=["tired"]), pictures(2)
    noisy = live.query(free, images)
    for decimals in (3, 2, 1, 0, 0):
        assert np.abs(live.query(key, images) - noisy).max() <= 0.5001 * 10.0**-decimals


def test_whoever_gets_decayed_answers_gets_no_file(live: Range) -> None:
    live.admin("PUT", "/limits/tired", {"kind": "decaying", "decimals": 3, "every": 2})
    key = live.key(limits=["tired"])
    headers = {"Authorization": f"Bearer {key}"}
    problem(live.client.get(f"{live.url}/v1/models/digits/artifact", headers=headers), 403, "forbidden")


def test_uploads_are_answered_as_ever(live: Range) -> None:
    live.admin("PUT", "/limits/tired", {"kind": "decaying", "decimals": 0, "every": 1})
    key, outputs = live.key(limits=["tired"]), np.eye(2, dtype=np.float32) * 0.25
    answer = live.post(key, "outputs", encode_npy(outputs), accept=JSON, X_Release="logits")
    assert answer.json()["decisions"] == [0, 1]
    assert live.admin("GET", "/limits/tired")["used"] == {}
