from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.federation.partition import partition
from leakrange.federation.settings import Dirichlet, Federation
from leakrange.wire.errors import InvalidInput


@st.composite
def shared_out(draw: st.DrawFn) -> tuple[Federation, dict[str, np.ndarray], int, int]:
    devices = draw(st.integers(2, 30))
    count = draw(st.integers(devices, 400))
    classes = draw(st.integers(1, 5))
    labels = np.random.default_rng(draw(st.integers(0, 99))).integers(0, classes, count)
    alpha = draw(st.sampled_from([None, 0.01, 0.5, 100.0]))
    split = "iid" if alpha is None else Dirichlet(alpha=alpha, by="age")
    return Federation(devices=devices, split=split), {"age": labels}, count, draw(st.integers(0, 2**40))


@given(shared_out())
def test_every_sample_lies_on_one_device_and_every_device_has_one(
    case: tuple[Federation, dict[str, np.ndarray], int, int],
) -> None:
    federation, labels, count, seed = case
    parts = partition(federation, labels, count, seed)
    assert len(parts) == federation.devices
    assert min(map(len, parts)) >= 1
    assert sorted(np.concatenate(parts).tolist()) == list(range(count))
    assert all((np.diff(part) > 0).all() for part in parts)
    if federation.split == "iid":
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    again = partition(federation, labels, count, seed)
    assert all(np.array_equal(one, other) for one, other in zip(parts, again, strict=True))


def test_another_seed_shares_out_in_another_way() -> None:
    federation = Federation(devices=7)
    one, other = (partition(federation, {}, 100, seed) for seed in (1, 2))
    assert not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def most_of_a_class(alpha: float) -> float:
    """The mean share that a device's most frequent class has of its samples."""
    labels = np.random.default_rng(3).integers(0, 4, 4_000)
    federation = Federation(devices=20, split=Dirichlet(alpha=alpha, by="age"))
    parts = partition(federation, {"age": labels}, len(labels), 11)
    return float(np.mean([np.bincount(labels[part], minlength=4).max() / len(part) for part in parts]))


def test_a_small_alpha_gives_devices_of_few_classes_a_large_one_of_all() -> None:
    assert most_of_a_class(0.05) > 0.75
    assert most_of_a_class(1_000.0) < 0.35  # four classes of the same size: 0.25, and chance


def test_it_refuses_more_devices_than_samples_and_an_unknown_attribute() -> None:
    with pytest.raises(InvalidInput, match="9 devices cannot share 8"):
        partition(Federation(devices=9), {}, 8, 0)
    with pytest.raises(InvalidInput, match="no attribute 'age' to split by; there are: sex"):
        partition(
            Federation(devices=2, split=Dirichlet(alpha=1.0, by="age")), {"sex": np.zeros(8, np.int64)}, 8, 0
        )
