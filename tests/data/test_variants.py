"""Variants of samples: what an attacker asks about besides a record itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.data.spans import samples_of
from leakrange.jobs.recipe import DataSpec
from leakrange.jobs.samples import MOST_VARIANTS, Span
from leakrange.wire.samples import SampleSpec, encodings

SETS = {name: DataSpec(name=name) for name in ("digits", "synthtable")}


def span(name: str, variant: int, start: int = 0, stop: int = 12) -> Span:
    return Span(data=SETS[name], split="test", start=start, stop=stop, variant=variant)


@pytest.mark.parametrize("name", SETS)
@given(variant=st.integers(1, MOST_VARIANTS), start=st.integers(0, 11))
def test_a_variant_of_a_sample_is_the_same_in_each_span_and_not_the_sample(
    name: str, variant: int, start: int
) -> None:
    plain, variants = samples_of(span(name, 0)), samples_of(span(name, variant))
    np.testing.assert_array_equal(samples_of(span(name, variant, start)), variants[start:])
    assert (variants.shape, variants.dtype) == (plain.shape, plain.dtype)
    assert (variants != plain).any(axis=tuple(range(1, plain.ndim))).mean() > 0.9
    assert not np.array_equal(samples_of(span(name, variant - 1)), variants)


def test_pictures_are_mirrored_then_moved_then_noisy() -> None:
    spec, draw = SampleSpec.picture(2, 3, 1), np.random.default_rng(3)
    picture = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)[:, :, np.newaxis]

    def variant(number: int) -> list[list[int]]:
        rows: list[list[int]] = encodings["picture"].variant(picture, spec, number, draw)[:, :, 0].tolist()
        return rows

    assert variant(1) == [[3, 2, 1], [6, 5, 4]]
    assert variant(2) == [[1, 1, 2], [4, 4, 5]]
    assert variant(3) == [[2, 1, 1], [5, 4, 4]]
    assert variant(6) == [[1, 2, 3], [1, 2, 3]]
    assert variant(9) == [[6, 5, 4], [6, 5, 4]]
    assert variant(10) != variant(10)  # from here on each draws


def test_noise_has_the_size_that_a_net_sees_whatever_the_unit() -> None:
    spec = SampleSpec(encoding="vector", shape=(2000,), dtype="float32", scale=50.0, offset=3.0)
    for number, deviation in enumerate((0.1, 0.4, 0.2, 0.8, 0.1), start=1):
        noisy = encodings["vector"].variant(np.zeros(2000), spec, number, np.random.default_rng(number))
        assert np.std(noisy / 50.0) == pytest.approx(deviation, rel=0.1)


@pytest.mark.parametrize(("name", "width"), [("digits", 16), ("synthtable", None)])
def test_what_is_drawn_is_of_nobody_and_the_same_in_each_span(name: str, width: int | None) -> None:
    data = DataSpec(name=name, seed=4)
    drawn = [
        samples_of(Span(data=each, split="drawn", start=start, stop=20))
        for each, start in ((data, 0), (data, 13), (data.model_copy(update={"seed": 5}), 0))
    ]
    people = samples_of(span(name, 0))
    np.testing.assert_array_equal(drawn[1], drawn[0][13:])
    assert (drawn[0].shape[1:], drawn[0].dtype) == (people.shape[1:], people.dtype)
    assert not (drawn[0][:, None] == drawn[2][None]).all(axis=tuple(range(2, people.ndim + 1))).any()
    assert width is None or drawn[0].shape[1:] == (width, width, 1)


def test_drawn_samples_are_noise_as_a_net_gets_it_some_rough_and_some_smooth() -> None:
    spec = SampleSpec(encoding="vector", shape=(3000,), dtype="float32", scale=50.0, offset=3.0)
    vector = encodings["vector"].drawn(spec, np.random.default_rng(2))
    assert (vector / 50.0 + 3.0).mean() == pytest.approx(0.0, abs=0.1)
    assert np.std(vector / 50.0) == pytest.approx(1.0, rel=0.05)
    draw, pictures = np.random.default_rng(3), SampleSpec.picture(24, 20, 3)
    steps = [
        np.abs(np.diff(encodings["picture"].drawn(pictures, draw).astype(float), axis=0)).mean()
        for _ in range(40)
    ]
    assert min(steps) < 30
    assert max(steps) > 80
