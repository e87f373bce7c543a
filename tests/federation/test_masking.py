"""Masks that cancel in the sum of all, and in nothing less."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from leakrange.federation.secure import (
    BITS,
    Masked,
    decoded,
    encoded,
    masked,
    pair_seed,
    unmasked,
)

ERROR = 2.0 ** -(BITS + 1)


def seeds_of(devices: list[int], number: int = 0) -> dict[int, dict[int, bytes]]:
    seeds: dict[int, dict[int, bytes]] = {device: {} for device in devices}
    for one, other in combinations(devices, 2):
        secret = bytes([one, other]) * 16
        seeds[one][other] = seeds[other][one] = pair_seed(secret, number)
    return seeds


def hidden(values: NDArray[np.float64], devices: list[int], number: int = 0) -> list[Masked]:
    seeds = seeds_of(devices, number)
    return [
        masked(encoded(row, len(devices)), device, seeds[device])
        for row, device in zip(values, devices, strict=True)
    ]


@given(
    st.integers(2, 6).flatmap(
        lambda count: st.tuples(
            st.lists(st.lists(st.floats(-1e5, 1e5), min_size=3, max_size=3), min_size=count, max_size=count),
            st.lists(st.integers(0, 200), min_size=count, max_size=count, unique=True),
        )
    )
)
def test_the_sum_of_all_is_the_plain_sum(drawn: tuple[list[list[float]], list[int]]) -> None:
    values, devices = np.array(drawn[0]), drawn[1]
    total = decoded(unmasked(hidden(values, devices), []))
    np.testing.assert_allclose(total, values.sum(axis=0), rtol=0, atol=len(devices) * ERROR * (1 + 1e-6))


@given(st.sets(st.integers(0, 4), min_size=0, max_size=3), st.integers(0, 3))
def test_survivors_take_the_masks_of_lost_devices_out(lost: set[int], seed: int) -> None:
    devices = [3, 8, 1, 20, 13]
    values = np.random.default_rng(seed).normal(size=(5, 4)) * 100
    gone = [devices[place] for place in lost]
    answers = [each for each in hidden(values, devices) if each.device not in gone]
    seeds = seeds_of(devices)
    revealed = [(each.device, other, seeds[each.device][other]) for each in answers for other in gone]
    kept = [place for place in range(5) if place not in lost]
    total = decoded(unmasked(answers, revealed))
    np.testing.assert_allclose(total, values[kept].sum(axis=0), rtol=0, atol=6 * ERROR)
    if revealed:
        wrong = decoded(unmasked(answers, revealed[1:]))
        assert np.abs(wrong - values[kept].sum(axis=0)).min() > 1e3


def test_one_masked_update_looks_uniform_and_so_does_the_sum_of_all_but_one() -> None:
    values = np.zeros((5, 40_000))  # nothing to hide behind but the masks
    answers = hidden(values, [0, 1, 2, 3, 4])
    for words in (answers[2].words, unmasked(answers[:4], [])):
        counts = np.bincount(words.view(np.uint8), minlength=256)
        assert chisquare(counts).pvalue > 1e-4
        for byte in range(8):  # each place of a word by itself
            counts = np.bincount(words.view(np.uint8)[byte::8], minlength=256)
            assert chisquare(counts).pvalue > 1e-4
    assert not unmasked(answers, []).any()


def test_masks_of_another_round_or_pair_are_others() -> None:
    values = np.zeros((3, 1000))
    first, second = hidden(values, [0, 1, 2]), hidden(values, [0, 1, 2], number=1)
    between = np.stack([each.words for each in (*first, *second)])
    for one, other in combinations(between, 2):
        assert (one != other).mean() > 0.99
    mixed = [first[0], second[1], first[2]]
    assert unmasked(mixed, []).any()


def test_numbers_that_have_no_room_are_refused() -> None:
    limit = 2.0 ** (63 - BITS) / 4
    largest = np.nextafter(limit, 0.0)
    values = np.array([[largest], [largest], [largest], [largest]])
    total = decoded(unmasked(hidden(values, [0, 1, 2, 3]), []))
    assert total[0] == pytest.approx(4 * limit)
    with pytest.raises(ValueError, match="room for less"):
        encoded(np.array([-limit]), 4)
    for wrong in (np.nan, np.inf):
        with pytest.raises(ValueError, match="not finite"):
            encoded(np.array([1.0, wrong]), 4)


def test_a_sum_of_one_is_not_unmasked() -> None:
    seeds = seeds_of([0, 1])
    alone = hidden(np.ones((2, 3)), [0, 1])[:1]
    with pytest.raises(ValueError, match="fewer than 2"):
        unmasked(alone, [(0, 1, seeds[0][1])])
