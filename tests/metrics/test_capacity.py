import itertools
import math
import time
from fractions import Fraction

import numpy as np
import pytest

from leakrange.metrics.capacity import noisy_bits, rounded_count, simplex_count


@pytest.mark.parametrize(("classes", "digits"), [(1, 2), (2, 0), (2, 2), (3, 1), (4, 1), (5, 0)])
def test_eq_18_counts_every_vector_once(classes: int, digits: int) -> None:
    one = 10**digits
    there = sum(sum(each) == one for each in itertools.product(range(one + 1), repeat=classes))
    assert simplex_count(classes, digits) == there


@pytest.mark.parametrize(
    ("classes", "digits", "kept"),
    [(1, 1, 1), (2, 0, 2), (3, 0, 3), (6, 0, 6), (2, 1, 2), (3, 1, 3), (4, 1, 2), (4, 1, 1), (2, 2, 2)],
)
def test_rounding_gives_as_many_vectors_as_are_counted(classes: int, digits: int, kept: int) -> None:
    """The probabilities that round to a vector are a polytope with corners at halves of the last digit, so
    that no other need be tried."""
    one, found = 10**digits, set()
    for halves in itertools.product(range(2 * one + 1), repeat=kept - 1):
        if (last := 2 * one - sum(halves)) < 0:
            continue
        vector = [*halves, last]
        for rounded in itertools.product(*({half // 2, (half + 1) // 2} for half in vector)):
            for places in itertools.combinations(range(classes), kept):
                found.add(tuple(sorted(zip(places, rounded, strict=True))))
    vectors = {tuple(dict(each).get(place, 0) for place in range(classes)) for each in found}
    assert rounded_count(classes, digits, kept) == len(vectors)


def test_floats_that_miss_the_sum_1_are_within_the_count() -> None:
    """From 6 digits on such a sum is whole units away."""
    assert rounded_count(2, 5) == (10**5 + 1) + 2 * 10**5  # sums of M − 1, M and M + 1
    assert rounded_count(2, 8) > 200 * 10**8  # sums of M ± 100, and one more either way


def test_a_thousand_classes_of_eight_digits_are_counted_exactly_and_at_once() -> None:
    begun = time.process_time()
    counted = simplex_count(1000, 8)
    bits = math.log2(counted), math.log2(rounded_count(1000, 8))
    assert time.process_time() - begun < 1.0
    product = Fraction(1)
    for step in range(1, 1000):
        product *= Fraction(10**8 + step, step)
    assert product == counted
    assert bits[0] == pytest.approx(sum(math.log2((10**8 + i) / i) for i in range(1, 1000)), rel=1e-12)
    assert bits[0] < bits[1] < 1000 * math.log2(10**8 + 1)


def test_gaussian_noise_has_shannons_capacity() -> None:
    entropy = 0.5 * math.log2(2 * math.pi * math.e * 0.5)
    assert noisy_bits(3, 3 * 7.5, 0.5, entropy) == pytest.approx(3 * 0.5 * math.log2(1 + 15))
    assert noisy_bits(3, 0.0, 0.5, entropy) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("scale", [0.05, 0.4, 3.0])
def test_laplace_noise_lets_no_more_through_than_the_bound(scale: float) -> None:
    """What two to nine evenly spread inputs tell through it, by numerical integration."""
    entropy = math.log2(2 * math.e * scale)
    y = np.linspace(-1 - 40 * scale, 1 + 40 * scale, 200_001)
    for levels in (2, 3, 9):
        given = np.exp(-np.abs(y - np.linspace(-1, 1, levels)[:, None]) / scale) / (2 * scale)
        mixed = given.mean(axis=0)
        told = -np.trapezoid(mixed * np.log2(mixed), y) - entropy
        assert 0 < told < noisy_bits(1, 1.0, 2 * scale**2, entropy)


def test_what_cannot_be_counted_is_refused() -> None:
    for classes, digits in ((0, 1), (3, -1)):
        with pytest.raises(ValueError, match="one class or more"):
            simplex_count(classes, digits)
    with pytest.raises(ValueError, match="one probability"):
        rounded_count(3, 1, 0)
