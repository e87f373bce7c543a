"""Extractors that devices learn: planned before the models that stand on them, and their mistakes told."""

from __future__ import annotations

import pytest

from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.scenario.plan import Plan
from tests.scenario.test_language import mistakes_of

TEXT = """\
name: features
seeds: [3, 4]
data: {name: synthtable, count: 800}
net: {name: mlp}
providers:
  honest: {behaviour: honest, target: passes, sensitive: group, release: features}
clients:
  phones: {kind: edge, samples: 100}
defences:
  none: []
  hidden: [tappfl: {private: group, strength: 0.75, federation: {devices: 4}}]
  rounded: [tappfl: {private: group, strength: 0.75, federation: {devices: 4}}, round: 1]
  kept: [tappfl: {private: group, strength: 0, federation: {devices: 4}}]
attacks:
  outside: {kind: attribute-inference, auxiliary: 50, knowledge: [unaware, aware]}
budgets: [50]
"""
SIZES = {"train": 500, "validation": 50, "auxiliary": 60, "test": 100}


def planned(text: str = TEXT) -> Plan:
    return expand(parse(text), lambda _spec: SIZES)


def replaced(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


def test_models_stand_on_the_extractor_of_their_seed() -> None:
    plan = planned()
    recipes = {each.artifact: each.recipe for each in plan.obfuscators}
    assert len(recipes) == 4  # two strengths, two seeds: rounding needs no extractor of its own
    plain = [model for model in plan.models if model.extractor is None]
    standing = [model for model in plan.models if model.extractor is not None]
    assert {model.id for model in plain} == {"honest-s3", "honest-s4"}
    assert len(standing) == 4
    for model in standing:
        assert model.extractor is not None
        assert model.recipe.extractor == model.extractor.artifact
        assert recipes[model.extractor.artifact].seed == model.seed == model.recipe.seed
        assert (model.recipe.net.name, model.recipe.behaviour) == ("tappfl-mlp", "honest")
        assert model.artifact not in {each.artifact for each in plain}


def test_devices_upload_by_the_extractor_of_their_model() -> None:
    plan = planned()
    extractors = {model.id: model.recipe.extractor for model in plan.models}
    assert {stream.defence for stream in plan.streams} == {"none", "hidden", "rounded", "kept"}
    for stream in plan.streams:
        own = extractors[stream.model]
        assert [link["tappfl"]["artifact"] for link in stream.local.spec()] == ([own] if own else [])
    probes = [probe for probe in plan.probes if probe.local]
    assert probes
    for probe in probes:
        assert probe.downloads  # who reads features has the extractor, and asks nobody
        assert probe.local.spec()[0]["tappfl"]["artifact"] == extractors[probe.model]


def test_nobody_is_unaware_of_an_extractor_that_everybody_has() -> None:
    known: dict[str, set[str]] = {}
    for trial in planned().trials:
        known.setdefault(trial.result.defence, set()).add(trial.result.knowledge)
    assert known == {
        "none": {"unaware"},
        "hidden": {"aware"},
        "kept": {"aware"},
        "rounded": {"unaware", "aware"},
    }


@pytest.mark.parametrize(
    ("old", "new", "path", "said"),
    [
        ("release: features", "release: logits", "defences.hidden", "makes features, not logits"),
        (
            "behaviour: honest",
            "behaviour: vicious, beta: {c: 1, r: 1}",
            "defences.hidden[0].tappfl",
            "not honest",
        ),
        ("{private: group, strength: 0.75", "{private: passes, strength: 0.75", "private", "asked for"),
        ("strength: 0.75", "strength: 1.5", "strength", "less than or equal to 1"),
        ("devices: 4", "devices: 1", "devices", "greater than or equal to 2"),
        ("{devices: 4}", "{devices: 4, split: {alpha: 1, by: colour}}", "hidden", "no attribute 'colour'"),
        ("strength: 0.75,", f"artifact: {'a' * 64}, strength: 0.75,", "artifact", "leave 'artifact' out"),
        (
            "samples: 100}",
            "samples: 100, defence: [tappfl: {private: group}]}",
            "clients.phones.defence",
            "write it under 'defences'",
        ),
        ("  hidden: [tappfl", "  hidden: [prune: 0.5, tappfl", "defences.hidden", "undoes 'prune'"),
    ],
)
def test_mistakes_are_told_where_they_are(old: str, new: str, path: str, said: str) -> None:
    found = mistakes_of(replaced(old, new))
    assert any(path in each["path"] and said in each["message"] for each in found), found
