"""Chains: read with all their mistakes, identified, and the composition of their stages."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.defences.output import Chain, InvalidChain, ReleaseContext
from leakrange.wire.errors import InvalidInput

DETERMINISTIC: list[Any] = [
    {"round": {"decimals": 2}},
    {"round": {"figures": 1}},
    {"top-k": 3},
    {"top-k": {"k": 2, "rest": "zero"}},
    "argmax",
    {"temperature": 2.5},
    "softmax",
    {"clip": {"min": 0.1}},
    {"noise": {"scale": 0.1, "sticky": True}},
    {"calibrated-noise": {"epsilon": 2, "sticky": True}},
]


@given(
    specs=st.lists(st.sampled_from(DETERMINISTIC), max_size=5), release=st.sampled_from(["logits", "softmax"])
)
def test_a_chain_is_the_composition_of_its_stages(specs: list[Any], release: Any) -> None:
    values = np.random.default_rng(3).dirichlet(np.ones(6), size=4).astype(np.float32)
    context = ReleaseContext(release=release, sticky_key=b"k", digests=[b"a", b"b", b"c", b"d"])
    chain = Chain.parse(specs)
    step, kind = values.astype(np.float64), release
    for index, (name, stage) in enumerate(chain.stages):
        place = f"{chain.digest()}:{index}".encode()
        step = stage.apply(
            step,
            ReleaseContext(release=kind, sticky_key=b"k", digests=context.digests, stage=place),
        )
        kind = "softmax" if name in ("softmax", "argmax") else kind
    assert chain.makes(release) == kind
    np.testing.assert_array_equal(chain.apply(values, context), step.astype(np.float32))


def test_an_empty_chain_changes_nothing() -> None:
    values = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    np.testing.assert_array_equal(Chain.parse([]).apply(values, ReleaseContext(release="score")), values)
    assert Chain.parse([]).deterministic


def test_the_digest_names_the_chain_not_its_spelling() -> None:
    spellings: list[list[Any]] = [
        [{"round": 1}, "argmax", {"noise": 0.5}],
        [{"round": {"decimals": 1}}, {"argmax": None}, {"noise": {"scale": 0.5, "kind": "gaussian"}}],
        Chain.parse([{"round": 1}, {"argmax": {}}, {"noise": {"sticky": False, "scale": 0.5}}]).spec(),
    ]
    assert len({Chain.parse(spec).digest() for spec in spellings}) == 1
    others = [[{"round": 2}, "argmax"], ["argmax", {"round": 1}], [{"round": {"figures": 1}}, "argmax"], []]
    assert len({Chain.parse(spec).digest() for spec in others}) == 4


def test_all_mistakes_are_told_at_once_with_what_is_allowed() -> None:
    spec = [
        {"roundd": 1},
        {"round": {"decimals": 1, "figures": 2}},
        {"noise": {"scale": -1, "kind": "uniform", "sigma": 2}},
        {"argmax": 3},
        {"top-k": {"k": 0}},
        {"round": 1, "argmax": None},
        7,
        {"clip": {"min": 2, "max": 1}},
        {"temperature": float("nan")},
        {"round": True},
    ]
    with pytest.raises(InvalidChain) as caught:
        Chain.parse(spec)
    told = {tuple(m["path"]): m for m in caught.value.mistakes}
    assert set(told) == {
        (0,),
        (1, "round"),
        (2, "noise", "scale"),
        (2, "noise", "kind"),
        (2, "noise", "sigma"),
        (3, "argmax"),
        (4, "top-k", "k"),
        (5,),
        (6,),
        (7, "clip"),
        (8, "temperature", "t"),
        (9, "round", "decimals"),
    }
    assert "did you mean 'round'?" in told[(0,)]["message"]
    assert "temperature" in told[(0,)]["allowed"]
    assert told[(2, "noise", "sigma")]["allowed"] == ["kind", "scale", "mode", "sticky"]
    problem = caught.value.problem("/admin/policies/p")
    assert problem["status"] == 422
    assert len(problem["mistakes"]) == 12


@pytest.mark.parametrize("spec", [None, "argmax", {"round": 1}, 3])
def test_a_chain_is_a_list(spec: Any) -> None:
    with pytest.raises(InvalidChain, match="a chain is a list of defences"):
        Chain.parse(spec)


def test_a_chain_has_an_end() -> None:
    with pytest.raises(InvalidChain, match="at most 16"):
        Chain.parse(["argmax"] * 17)


@pytest.mark.parametrize("name", ["argmax", "top-k", "temperature"])
def test_class_score_defences_refuse_scores_and_features(name: str) -> None:
    chain = Chain.parse([name if name == "argmax" else {name: 1}])
    assert chain.refuse("logits") is None
    assert chain.refuse("softmax") is None
    for release in ("score", "features", "sample"):
        with pytest.raises(InvalidInput, match=f"{name} means nothing on a {release} release"):
            chain.apply(np.zeros((2, 1), dtype=np.float32), ReleaseContext(release=release))


@pytest.mark.parametrize(
    "after", [{"temperature": 2}, {"top-k": 2}, {"top-k": {"k": 2, "rest": "zero"}}, "normalise"], ids=str
)
def test_what_comes_after_a_softmax_takes_probabilities(after: Any) -> None:
    """So that, say, classes that are withheld have the probability 0."""
    logits = 3 * np.random.default_rng(4).normal(size=(5, 6)).astype(np.float32)
    soft = np.exp(logits.astype(float)) / np.exp(logits.astype(float)).sum(axis=1, keepdims=True)
    found = Chain.parse(["softmax", after]).apply(logits, ReleaseContext(release="logits"))
    expected = Chain.parse([after]).apply(soft.astype(np.float32), ReleaseContext(release="softmax"))
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.min() >= 0.0


def test_a_chain_is_deterministic_unless_it_draws() -> None:
    assert Chain.parse(["argmax", {"noise": {"scale": 1, "sticky": True}}]).deterministic
    assert Chain.parse([{"noise": {"scale": 1, "sticky": True}}]).needs_digests
    assert not Chain.parse([{"round": 1}, {"noise": 1}]).deterministic
    assert not Chain.parse([{"noise": 1}]).needs_digests


def test_it_runs_without_a_deep_learning_framework() -> None:
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from leakrange.defences.output import Chain, output_defences; list(output_defences)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_class_scores_of_several_attributes_are_each_taken_by_themselves() -> None:
    values = np.random.default_rng(3).normal(size=(4, 5)).astype(np.float32)
    heads = (2, 3)
    for stage in ("argmax", {"top-k": {"k": 1}}, {"temperature": 2.0}):
        chain = Chain.parse([stage])
        for release in ("logits", "softmax"):
            parts = [chain.apply(part, ReleaseContext(release=release)) for part in np.split(values, [2], 1)]
            whole = chain.apply(values, ReleaseContext(release=release, heads=heads))
            np.testing.assert_array_equal(whole, np.concatenate(parts, axis=1))
    bare = Chain.parse([{"top-k": {"k": 2, "rest": "bare"}}, "argmax"])
    kept = bare.apply(values, ReleaseContext(release="logits", heads=(3, 2)))
    np.testing.assert_array_equal(kept, [[1, 0, 1, 0]] * 4)
    norm = Chain.parse([{"clip": {"norm": 0.5}}])
    np.testing.assert_array_equal(
        norm.apply(values, ReleaseContext(release="logits", heads=heads)),
        norm.apply(values, ReleaseContext(release="logits")),
    )
    with pytest.raises(InvalidInput, match="5 class scores are not those of 6 classes"):
        bare.apply(values, ReleaseContext(release="logits", heads=(3, 3)))
