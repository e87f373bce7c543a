"""Whoever names no net gets one that takes the samples: providers, defences that are trained, attackers."""

from __future__ import annotations

import pytest

from leakrange.attacks.probing import Probing, ProbingParameters
from leakrange.data import datasets
from leakrange.nets import nets
from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand

SIZES = {"train": 500, "validation": 50, "auxiliary": 60, "test": 100}
TEXT = """\
name: short
seeds: 0
data: {name: SET}
providers:
  asked: {behaviour: honest, target: TARGET, sensitive: HIDDEN, release: features}
defences:
  none: []
  moved: [gap: {private: HIDDEN}]
  shared: [tappfl: {private: HIDDEN, federation: {devices: 4}}]
attacks:
  outside: {kind: attribute-inference, auxiliary: 50}
budgets: 50
"""


def scenario(name: str) -> str:
    target, hidden = list(datasets[name].attributes)[:2]
    return TEXT.replace("SET", name).replace("TARGET", target).replace("HIDDEN", hidden)


@pytest.mark.parametrize("name", [name for name, each in datasets.items() if len(each.attributes) > 1])
def test_who_names_no_net_is_never_told_that_one_does_not_fit(name: str) -> None:
    plan = expand(parse(scenario(name)), lambda _: SIZES)
    spec = datasets[name].spec
    trained = [each.recipe for each in (*plan.models, *plan.obfuscators)]
    assert {recipe.behaviour for recipe in trained} == {"honest", "defence/gap", "defence/tappfl"}
    for recipe in trained:
        assert nets[recipe.net.name].misfit(spec) is None, recipe
    probing = Probing(ProbingParameters()).net(spec)
    assert nets[probing.name].misfit(spec) is None


@pytest.mark.parametrize(
    ("name", "model", "gap", "tappfl"),
    [
        ("digits", "hbc", "hbc", "tappfl-small"),
        ("synthmotion", "conv-1d", "conv-1d", "tappfl-mlp"),
        ("synthtable", "mlp", "mlp", "tappfl-mlp"),
        ("quadrants", "mlp", "mlp", "tappfl-mlp"),
    ],
)
def test_the_nets_of_each_kind_of_samples(name: str, model: str, gap: str, tappfl: str) -> None:
    plan = expand(parse(scenario(name)), lambda _: SIZES)
    plain = next(each.recipe for each in plan.models if each.extractor is None)
    obfuscators = {each.recipe.defence: each.recipe.net.name for each in plan.obfuscators}
    assert (plain.net.name, obfuscators) == (model, {"gap": gap, "tappfl": tappfl})


def test_a_width_alone_is_of_the_net_that_fits() -> None:
    narrow = scenario("synthtable").replace("seeds: 0", "seeds: 0\nnet: {width: 0.5}")
    found = parse(narrow).providers["asked"].net
    assert found is not None
    assert (found.name, found.width) == ("mlp", 0.5)
    again = parse(parse(narrow).model_dump(mode="json"))
    assert again.providers["asked"].net == found
