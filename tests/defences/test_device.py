"""Chains that change the model first and its outputs then."""

from __future__ import annotations

from typing import Any

import pytest

from leakrange.defences.device import DeviceChain
from leakrange.defences.output import Chain, InvalidChain

BOTH: list[Any] = [{"prune": 0.5}, {"round": 1}, "argmax"]


def test_a_chain_is_split_where_outputs_begin() -> None:
    chain = DeviceChain.parse(BOTH)
    assert chain.model_spec() == [{"prune": {"amount": 0.5, "scope": "global"}}]
    assert chain.outputs.spec() == Chain.parse([{"round": 1}, "argmax"]).spec()
    assert DeviceChain.parse(chain.spec()).spec() == chain.spec()
    assert DeviceChain.parse(chain.spec()).digest() == chain.digest()


def test_without_model_defences_it_is_the_chain_that_the_proxy_knows() -> None:
    spec: list[Any] = [{"round": 1}, "argmax"]
    assert DeviceChain.parse(spec).spec() == Chain.parse(spec).spec()
    assert DeviceChain.parse(spec).digest() == Chain.parse(spec).digest()
    assert not DeviceChain.parse([])
    assert DeviceChain.parse([{"prune": 0.5}])


@pytest.mark.parametrize(
    ("spec", "path", "said"),
    [
        (["argmax", {"prune": 0.5}], [1], "put it before 'argmax'"),
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
        DeviceChain.parse(spec)
    [mistake] = caught.value.mistakes
    assert mistake["path"] == path
    assert said in mistake["message"]


def test_a_policy_of_the_proxy_changes_no_model() -> None:
    with pytest.raises(InvalidChain, match="unknown output defence 'prune'"):
        Chain.parse(BOTH)
