"""What each output defence promises, as properties and against independent calculations."""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray
from scipy import special, stats

from leakrange.defences.output import Chain, ReleaseContext, output_defences
from leakrange.wire.errors import InvalidInput
from leakrange.wire.pairs import same_person

Array = NDArray[np.float32]

shapes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12)
anything = hnp.arrays(np.float32, shapes, elements=st.floats(width=32, allow_nan=False, allow_infinity=False))
logits = hnp.arrays(np.float32, shapes, elements=st.floats(-50, 50, width=32))


def softmaxes() -> st.SearchStrategy[Array]:
    return logits.map(lambda z: special.softmax(z, axis=1).astype(np.float32))


SPECS: list[Any] = [
    {"round": {"decimals": 1}},
    {"round": {"figures": 1}},
    {"noise": {"scale": 0.3}},
    {"noise": {"kind": "laplace", "scale": 0.3, "mode": "multiplicative"}},
    {"noise": {"scale": 0.3, "sticky": True}},
    {"top-k": 2},
    {"top-k": {"k": 2, "rest": "zero"}},
    "argmax",
    {"temperature": 0.01},
    {"temperature": 50},
    {"clip": {"min": -1, "max": 1}},
    {"clip": {"norm": 1}},
    {"calibrated-noise": 1.0},
    {"calibrated-noise": {"epsilon": 1.0, "sticky": True}},
    "normalise",
    "softmax",
    "hamp",
    {"memguard": {"weights": [3.0, -1.0], "bias": -1.5}},
    {"match": 0.5},
]


def apply(spec: Any, values: Array, release: Any = "logits", **context: Any) -> Array:
    digests = [i.to_bytes(4, "big") for i in range(len(values))]
    full = {"draw": np.random.default_rng(0), "sticky_key": b"k", "digests": digests} | context
    return Chain.parse([spec]).apply(values, ReleaseContext(release=release, **full))


def taken(spec: Any, *releases: Any) -> Any:
    """The first of the releases that the defence takes."""
    return next(each for each in releases if not Chain.parse([spec]).refuse(each))


def test_every_defence_of_the_registry_is_tried_here() -> None:
    tried = {spec if isinstance(spec, str) else next(iter(spec)) for spec in SPECS}
    assert tried == set(output_defences) - {"noisy-vote"}  # it takes votes alone: see test_noisy_vote


@pytest.mark.parametrize("release", ["logits", "softmax"])
@pytest.mark.parametrize("spec", SPECS, ids=str)
@given(values=anything)
def test_shape_and_finiteness_survive_even_the_largest_floats(spec: Any, release: str, values: Array) -> None:
    before = values.copy()
    result = apply(spec, values, taken(spec, release, "features", "softmax", "score"))
    assert result.shape == values.shape
    assert result.dtype == np.float32
    assert np.isfinite(result).all()
    np.testing.assert_array_equal(values, before)


ranked = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=5, min_side=1, max_side=4),
    elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@given(values=ranked)
def test_a_release_of_any_rank_is_transformed_as_its_numbers_in_a_row(spec: Any, values: Array) -> None:
    """What takes vectors alone refuses all others, and says what would do."""
    name = spec if isinstance(spec, str) else next(iter(spec))
    release = "softmax" if output_defences[name].vectors else taken(spec, "sample", "score")
    if output_defences[name].vectors and values.ndim != 2:
        with pytest.raises(InvalidInput, match=f"{name} takes vectors.*leave it out.*round"):
            apply(spec, values, release)
        return
    flat = apply(spec, values.reshape(len(values), -1), release)
    np.testing.assert_array_equal(apply(spec, values, release), flat.reshape(values.shape))


@pytest.mark.parametrize(
    "spec",
    [{"round": {"decimals": 2}}, {"round": {"figures": 3}}, "argmax", {"clip": {"max": 0.5}}, {"top-k": 3}],
    ids=str,
)
@given(values=softmaxes())
def test_doing_it_twice_changes_nothing_more(spec: Any, values: Array) -> None:
    once = apply(spec, values, "softmax")
    np.testing.assert_allclose(apply(spec, once, "softmax"), once, rtol=3e-7)


@given(values=anything.map(np.abs), threshold=st.floats(0, 3, width=32))
@example(values=np.array([[0.1], [np.nextafter(np.float32(0.1), np.float32(1))]], np.float32), threshold=0.1)
def test_a_match_is_what_the_service_itself_decides(values: Array, threshold: float) -> None:
    unlike = apply({"match": threshold}, values[:, :1], "score")[:, 0]
    assert (unlike == 0).tolist() == same_person(values[:, :1], threshold)
    assert set(unlike.tolist()) <= {0.0, 1.0}


@given(values=anything)
def test_rounding_is_idempotent_to_the_bit(values: Array) -> None:
    for spec in ({"round": {"decimals": 3}}, {"round": {"figures": 2}}):
        once = apply(spec, values)
        np.testing.assert_array_equal(apply(spec, once), once)


@given(
    values=hnp.arrays(np.float32, (1, 4), elements=st.floats(-1e6, 1e6, width=32)), places=st.integers(0, 6)
)
@example(values=np.array([[0.5, 1.5, 2.5, -0.125]], dtype=np.float32), places=0)
def test_decimals_agree_with_decimal_arithmetic(values: Array, places: int) -> None:
    rounded = apply({"round": {"decimals": places}}, values)[0]
    for value, ours in zip(values[0], rounded, strict=True):
        theirs = Decimal(float(value)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_HALF_EVEN)
        # One unit of the last place where the scaled float fell on the other side of a tie.
        assert ours == np.float32(theirs) or abs(Decimal(float(value)) - theirs) > Decimal(
            "0.4999999"
        ).scaleb(-places)


@pytest.mark.parametrize(
    ("spec", "values", "rounded"),
    [
        ({"decimals": 0}, [0.5, 1.5, 2.5, -0.5, -1.5, -2.5], [0, 2, 2, 0, -2, -2]),
        ({"decimals": 2}, [0.125, 0.375, 0.625, -0.125], [0.12, 0.38, 0.62, -0.12]),
        ({"figures": 1}, [2.5, 3.5, -2.5, 250.0], [2, 4, -2, 200]),
    ],
    ids=str,
)
def test_a_tie_goes_to_the_even_neighbour(
    spec: dict[str, int], values: list[float], rounded: list[float]
) -> None:
    """These numbers are exact in binary, so that each of them is a tie indeed."""
    found = apply({"round": spec}, np.array([values], dtype=np.float32))
    np.testing.assert_array_equal(found, np.array([rounded], dtype=np.float32))


@given(value=st.floats(2.0**-100, 2.0**100, width=32), figures=st.integers(1, 6))
@example(value=0.0009765625, figures=1)
@example(value=1000.0, figures=2)
def test_figures_agree_with_scientific_notation(value: float, figures: int) -> None:
    ours = float(apply({"round": {"figures": figures}}, np.array([[value]], dtype=np.float32))[0, 0])
    theirs = float(np.float32(f"{value:.{figures - 1}e}"))
    unit = 10.0 ** (np.floor(np.log10(value)) - figures + 1)
    # A tie may fall on either side; everything else is exact.
    assert ours == theirs or abs(abs(value / unit) % 1 - 0.5) < 1e-9


@given(values=softmaxes(), k=st.integers(1, 15))
def test_renormalised_top_k_lies_on_the_simplex_and_keeps_the_decision(values: Array, k: int) -> None:
    result = apply({"top-k": k}, values, "softmax")
    assert (result >= 0).all()
    np.testing.assert_allclose(result.sum(axis=1), 1, atol=1e-5)
    assert ((result > 0).sum(axis=1) <= k).all()
    # The decision has the highest score still; another may have come to the same in float32.
    decided = np.take_along_axis(result, values.argmax(axis=1, keepdims=True), axis=1)
    np.testing.assert_array_equal(decided[:, 0], result.max(axis=1))


@given(values=logits, k=st.integers(1, 15))
def test_top_k_of_logits_is_top_k_of_their_softmax(values: Array, k: int) -> None:
    of_logits = special.softmax(apply({"top-k": k}, values, "logits").astype(float), axis=1)
    of_softmax = apply(
        {"top-k": k}, special.softmax(values.astype(float), axis=1).astype(np.float32), "softmax"
    )
    # Sorted: of two logits closer than a float32 softmax can tell, either may be kept.
    np.testing.assert_allclose(np.sort(of_logits), np.sort(of_softmax), atol=1e-5)


def test_zero_and_bare_keep_the_values_as_they_are() -> None:
    values = np.array([[0.1, 0.5, 0.15, 0.25]], dtype=np.float32)
    np.testing.assert_array_equal(
        apply({"top-k": {"k": 2, "rest": "zero"}}, values, "softmax"),
        [[0, np.float32(0.5), 0, np.float32(0.25)]],
    )
    np.testing.assert_array_equal(
        apply({"top-k": {"k": 2, "rest": "bare"}}, values, "softmax"), [[0.5, 0.25]]
    )
    negative = np.array([[-5.0, -1.0, -3.0]], dtype=np.float32)
    np.testing.assert_array_equal(
        apply({"top-k": {"k": 2, "rest": "zero"}}, negative, "logits"), [[-33.0, -1.0, -3.0]]
    )


@given(values=anything)
def test_argmax_is_one_hot_at_the_decision(values: Array) -> None:
    result = apply("argmax", values)
    np.testing.assert_array_equal(result.sum(axis=1), 1)
    np.testing.assert_array_equal(result.argmax(axis=1), values.argmax(axis=1))


@given(values=logits)
def test_logits_become_the_probabilities_of_an_independent_softmax(values: Array) -> None:
    np.testing.assert_allclose(
        apply("softmax", values), special.softmax(values, axis=1), rtol=1e-5, atol=1e-7
    )
    np.testing.assert_array_equal(apply("softmax", values, "softmax"), values)
    of_two = apply("softmax", np.array([[0.0, 2.0, 1.0]], dtype=np.float32), heads=(2, 1))
    np.testing.assert_allclose(of_two, [[1 - special.expit(2), special.expit(2), 1.0]], rtol=1e-5)


@given(values=logits, t=st.floats(0.1, 100))
def test_temperature_means_the_same_on_logits_and_softmax(values: Array, t: float) -> None:
    expected = special.softmax(values.astype(float) / t, axis=1)
    of_logits = special.softmax(apply({"temperature": t}, values, "logits").astype(float), axis=1)
    np.testing.assert_allclose(of_logits, expected, atol=1e-4)
    probabilities = special.softmax(values.astype(float), axis=1)
    if probabilities.min() > 1e-30:  # below, a float32 softmax has forgotten the logit
        of_softmax = apply({"temperature": t}, probabilities.astype(np.float32), "softmax")
        np.testing.assert_allclose(of_softmax, expected, atol=1e-4)


@given(values=anything, norm=st.floats(1e-3, 1e3))
def test_clipping_bounds_the_norm_and_leaves_the_direction(values: Array, norm: float) -> None:
    result = apply({"clip": {"norm": norm}}, values).astype(float)
    lengths = np.linalg.norm(result, axis=1)
    assert (lengths <= norm * (1 + 1e-6)).all()
    inside = np.linalg.norm(values.astype(float), axis=1) <= norm
    np.testing.assert_array_equal(result[inside], values[inside])
    moderate = (np.abs(values).max(axis=1) > 1e-6) & (np.abs(values).max(axis=1) < 1e6) & ~inside
    directions = values[moderate].astype(float)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    np.testing.assert_allclose(result[moderate] / lengths[moderate, None], directions, atol=1e-4)


@pytest.mark.parametrize("sticky", [False, True])
@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize(("kind", "law"), [("gaussian", stats.norm), ("laplace", stats.laplace)])
def test_noise_has_its_distribution(kind: str, law: Any, mode: str, sticky: bool) -> None:
    values = np.full((400, 50), -4.0, dtype=np.float32)
    spec = {"noise": {"kind": kind, "scale": 0.5, "mode": mode, "sticky": sticky}}
    digests = [i.to_bytes(4, "big") for i in range(400)]
    noise = (apply(spec, values, "features", digests=digests) + 4.0).ravel()
    # Multiplicative: N(x, η|x|) with η|x| the deviation, here 0.5 · 4.
    assert stats.kstest(noise, law(scale=2.0 if mode == "multiplicative" else 0.5).cdf).pvalue > 0.01
    rows = noise.reshape(400, 50)
    assert abs(np.corrcoef(rows[:-1].ravel(), rows[1:].ravel())[0, 1]) < 0.03
    assert abs(np.corrcoef(rows[:, :-1].ravel(), rows[:, 1:].ravel())[0, 1]) < 0.03


def test_fresh_noise_averages_away_and_sticky_noise_does_not() -> None:
    values = np.zeros((1, 200), dtype=np.float32)
    draw = np.random.default_rng(0)

    def mean(sticky: bool) -> float:
        spec = {"noise": {"scale": 1.0, "sticky": sticky}}
        answers = [apply(spec, values, digests=[b"query"], draw=draw) for _ in range(400)]
        return float(np.abs(np.mean(answers, axis=0)).mean())

    assert mean(sticky=False) < 0.1
    assert mean(sticky=True) > 0.6  # E|N(0, 1)| = 0.8: as if asked once


@given(order=st.permutations(range(6)), first=st.integers(1, 5))
def test_sticky_noise_knows_neither_position_nor_neighbours(order: list[int], first: int) -> None:
    values = np.arange(18, dtype=np.float32).reshape(6, 3)
    digests = [bytes([i]) for i in range(6)]
    spec = {"noise": {"kind": "laplace", "scale": 2.0, "sticky": True}}
    together = apply(spec, values, digests=digests)
    chosen = order[:first]
    alone = apply(spec, values[chosen], digests=[digests[i] for i in chosen], draw=np.random.default_rng(9))
    np.testing.assert_array_equal(alone, together[chosen])


def test_sticky_noise_depends_on_query_key_policy_and_stage() -> None:
    values = np.zeros((1, 8), dtype=np.float32)

    def noise(spec: list[Any], digest: bytes = b"q", key: bytes = b"key") -> Array:
        context = ReleaseContext(release="features", sticky_key=key, digests=[digest])
        return Chain.parse(spec).apply(values, context)

    one = [{"noise": {"scale": 1, "sticky": True}}]
    plain = noise(one)
    np.testing.assert_array_equal(noise(one), plain)
    assert not np.allclose(noise(one, digest=b"other"), plain)
    assert not np.allclose(noise(one, key=b"other"), plain)
    # The same noise at twice the scale would give the clean value away: 2·(x + n) − (x + 2n) = x.
    assert not np.allclose(noise([{"noise": {"scale": 2, "sticky": True}}]), 2 * plain)
    assert not np.allclose(noise(one * 2), 2 * plain)


@pytest.mark.parametrize("digests", [None, [b"only one"]])
def test_sticky_noise_without_a_digest_for_each_sample_fails(digests: Any) -> None:
    with pytest.raises(ValueError, match="one digest for each of the 2 samples"):
        apply({"noise": {"scale": 1, "sticky": True}}, np.zeros((2, 3), dtype=np.float32), digests=digests)
