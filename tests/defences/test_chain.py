"""Chains of several stages: the sample first, the model then, its outputs last."""

from __future__ import annotations

from typing import Any

import pytest

from leakrange.defences.chain import DefenceChain
from leakrange.defences.output import Chain, InvalidChain

BOTH: list[Any] = [{"gaussian-input": 0.5}, {"prune": 0.5}, {"round": 1}, "argmax"]


def test_a_chain_is_split_by_stages_and_knows_where_each_runs() -> None:
    chain = DefenceChain.parse(BOTH)
    assert chain.input_spec() == [{"gaussian-input": {"sigma": 0.5}}]
    assert chain.on_device.spec() == chain.input_spec() + chain.model_spec()
    assert chain.policy == chain.outputs
    own = DefenceChain.parse(BOTH, outputs_at="device")
    assert own.on_device == own
    assert not own.policy.stages
    assert not chain.deterministic
    assert DefenceChain.parse(BOTH[1:]).deterministic
    assert chain.model_spec() == [{"prune": {"amount": 0.5, "scope": "global"}}]
    assert chain.outputs.spec() == Chain.parse([{"round": 1}, "argmax"]).spec()
    assert DefenceChain.parse(chain.spec()).spec() == chain.spec()
    assert DefenceChain.parse(chain.spec()).digest() == chain.digest()


def test_without_model_defences_it_is_the_chain_that_the_proxy_knows() -> None:
    spec: list[Any] = [{"round": 1}, "argmax"]
    assert DefenceChain.parse(spec).spec() == Chain.parse(spec).spec()
    assert DefenceChain.parse(spec).digest() == Chain.parse(spec).digest()
    assert not DefenceChain.parse([])
    assert DefenceChain.parse([{"prune": 0.5}])


@pytest.mark.parametrize(
    ("spec", "path", "said"),
    [
        (["argmax", {"prune": 0.5}], [1], "put it before 'argmax'"),
        ([{"prune": 0.5}, {"gaussian-input": 1}], [1], "before the model stage: put it before 'prune'"),
        ([{"prune": {}}], [0, "prune", "amount"], "required"),
        ([{"prune": 1.5}], [0, "prune", "amount"], "less than 1"),
        ([{"prune": {"amount": 0.5, "scop": "global"}}], [0, "prune", "scop"], "Extra"),
        (["prun"], [0], "unknown defence 'prun'"),
        ([{"prune": 0.5, "round": 1}], [0], "not 2 names"),
        ("prune", [], "not a text"),
        ([{"prune": 0.5}] * 17, [], "at most 16"),
    ],
    ids=str,
)
def test_mistakes_are_told_where_they_stand(spec: Any, path: list[Any], said: str) -> None:
    with pytest.raises(InvalidChain) as caught:
        DefenceChain.parse(spec)
    [mistake] = caught.value.mistakes
    assert mistake["path"] == path
    assert said in mistake["message"]


def test_a_policy_of_the_proxy_changes_no_model() -> None:
    with pytest.raises(InvalidChain, match="unknown output defence 'prune'"):
        Chain.parse(BOTH)


def test_two_chains_join_stage_by_stage() -> None:
    own = DefenceChain.parse([{"gaussian-input": 0.1}, {"round": 1}], outputs_at="device")
    joined = own.then(DefenceChain.parse(BOTH).on_device)
    names = [name for link in joined.spec() for name in link]
    assert names == ["gaussian-input", "gaussian-input", "prune", "round"]
    assert DefenceChain.parse(joined.spec()).spec() == joined.spec()
    assert joined.on_device.spec() == joined.spec()


def test_what_changes_the_model_means_nothing_where_samples_are_sent() -> None:
    assert DefenceChain.parse([{"prune": 0.5}]).refuse("sample")
    assert DefenceChain.parse([{"prune": 0.5}]).refuse("logits") is None
    assert DefenceChain.parse([{"gaussian-input": 0.5}, {"round": 1}]).refuse("sample") is None
    assert DefenceChain.parse(["argmax"]).refuse("sample")
