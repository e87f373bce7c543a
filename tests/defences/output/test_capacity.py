"""Upper bounds of what a release carries after a policy."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from leakrange.defences.output import Chain, Release, ReleaseContext
from leakrange.defences.output.chain import upper_bits
from leakrange.defences.output.room import Room
from leakrange.metrics.capacity import rounded_count

STAGES: list[Any] = [
    "argmax",
    {"round": 1},
    {"round": {"figures": 1}},
    {"top-k": 1},
    {"top-k": 2},
    {"top-k": {"k": 2, "rest": "zero"}},
    {"top-k": {"k": 2, "rest": "bare"}},
    {"clip": {"min": -0.5, "max": 0.6}},
    {"clip": {"min": 0.1}},
    {"clip": {"norm": 0.7}},
    {"temperature": 2},
    "softmax",
    {"noise": 0.3},
    "normalise",
]
DENSE = np.random.default_rng(5).dirichlet([0.6] * 3, 60_000).astype(np.float32)


def bits(spec: list[Any], release: Release = "softmax", outputs: int = 10, heads: Any = ()) -> float:
    return upper_bits(Chain.parse(spec), release, outputs, heads)


def given_releases(release: Release) -> np.ndarray:
    return DENSE if release == "softmax" else (4 * np.log(DENSE + 1e-4)).astype(np.float32)


@example([{"top-k": 2}, {"clip": {"min": 0.1}}], "softmax")
@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(STAGES), min_size=1, max_size=4), st.sampled_from(["softmax", "logits"]))
def test_a_room_holds_what_stages_release(spec: list[Any], release: Release) -> None:
    """Whatever it says of values holds for what comes out, and there are no more answers than it counts."""
    chain = Chain.parse(spec)
    if chain.refuse(release):
        return
    room = Room.released(release, 3)
    for stage, kind in chain.steps(release):
        room = stage.room(room, kind)
    context = ReleaseContext(release=release, draw=np.random.default_rng(1))
    out = chain.apply(given_releases(release)[:5000], context)
    assert out.shape[1] == room.values
    assert room.low - 1e-6 <= out.min()
    assert out.max() <= room.high + 1e-6
    if room.probabilities:
        np.testing.assert_allclose(out.sum(axis=1), 1, atol=1e-5)
    rest = out.min(axis=1, keepdims=True) if chain.makes(release) == "logits" else 0
    assert ((out == rest).sum(axis=1) >= room.withheld).all()
    if chain.deterministic:
        assert len(np.unique(out, axis=0)) <= 2 ** bits(spec, release, 3) + 1e-6


@pytest.mark.parametrize(
    "spec",
    [["argmax"], [{"round": 1}], [{"top-k": 1}], [{"top-k": 2}, {"round": 1}]],
    ids=str,
)
def test_a_small_alphabet_is_counted_and_not_only_bounded(spec: list[Any]) -> None:
    """Nearly: rounding half to even leaves out sums that the count allows (of two classes two of three)."""
    out = Chain.parse(spec).apply(DENSE, ReleaseContext(release="softmax"))
    there = len(np.unique(out, axis=0))
    assert 0.3 * 2 ** bits(spec, outputs=3) < there <= round(2 ** bits(spec, outputs=3))


def test_ten_classes() -> None:
    assert bits([]) == bits([], "logits") == 320.0
    assert bits(["argmax"]) == bits([{"top-k": 1}], "logits") == pytest.approx(math.log2(10))
    assert bits([{"round": 2}]) == math.log2(rounded_count(10, 2))
    assert bits([{"top-k": 3}]) == pytest.approx(math.log2(120) + 96)
    assert bits([{"top-k": 3}], "logits") == pytest.approx(math.log2(210) + 128)
    assert bits(["softmax", {"top-k": 3}], "logits") == bits([{"top-k": 3}])
    assert bits(["softmax", {"top-k": 3}, {"round": 2}], "logits") == math.log2(rounded_count(10, 2, 3))
    assert bits([{"top-k": 3}, {"round": 2}]) == math.log2(rounded_count(10, 2, 3))
    assert bits([{"clip": {"min": -10, "max": 10}}, {"round": 1}], "logits") == pytest.approx(
        10 * math.log2(201)
    )
    assert bits([{"round": 1}], "logits") == 320.0  # unbounded
    assert bits([{"noise": 0.1}]) == pytest.approx(5 * math.log2(1 + 0.9 / 10 / 0.01))
    assert bits([{"noise": 0.1}], "logits") == 320.0
    assert bits([{"calibrated-noise": {"epsilon": 1}}]) < 0.02


def test_what_comes_later_never_adds_bits() -> None:
    for spec in (
        [{"round": 1}, {"noise": 0.01}],
        ["argmax", {"temperature": 2}],
        [{"round": 1}, "normalise"],
    ):
        assert bits(spec) == bits(spec[:1])
    assert bits([{"noise": 1.0}, {"round": 8}]) == bits([{"noise": 1.0}])
    assert bits([{"round": 2}, {"round": 1}]) < bits([{"round": 2}])


def test_attributes_add_up() -> None:
    assert bits(["argmax"], outputs=7, heads=(2, 5)) == pytest.approx(1 + math.log2(5))
    assert bits([{"round": 1}], outputs=7, heads=(2, 5)) == pytest.approx(
        math.log2(rounded_count(2, 1)) + math.log2(rounded_count(5, 1))
    )
    assert bits([], "features", outputs=7, heads=(2, 5)) == 7 * 32


def test_features_have_no_range_of_their_own() -> None:
    for spec in ([{"round": 0}], [{"noise": 3.0}], [{"noise": {"scale": 1, "mode": "multiplicative"}}]):
        assert bits(spec, "features", 64) == 64 * 32, spec
    assert bits([{"clip": {"min": 0, "max": 4}}, {"round": 0}], "features", 64) == 64 * math.log2(5)
    assert bits(["normalise", {"round": 2}], "features", 64) == 64 * math.log2(201)
    # of one digit 9 for each power of ten from 1e-45 to 1e38, with a sign, and 0; no more than one too many
    one_figure = bits([{"round": {"figures": 1}}], "features", 64)
    assert 64 * math.log2(2 * 9 * 84) < one_figure < 64 * math.log2(2 * 9 * 84 + 4)
