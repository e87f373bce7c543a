"""Defences that have to be trained: planned once for each data set and seed, and their mistakes told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from leakrange.scenario.language import parse
from leakrange.scenario.matrix import expand
from leakrange.wire.digests import digest
from tests.scenario.test_language import mistakes_of

TEXT = """\
name: private
seeds: [0, 1]
data:
  motion: {name: synthmotion, count: 800}
  census: {name: adult}
net: {name: mlp}
providers:
  by-activity: {data: motion, target: activity, sensitive: hand, release: sample}
  by-gait: {data: motion, target: gait, sensitive: hand, release: sample}
  income: {data: census, target: income, sensitive: gender, release: sample}
clients:
  phones: {kind: edge, samples: 100}
defences:
  none: []
  hides: [pass: {private: hand, useful: [activity, gait], net: conv-1d}]
  always: [pass: {private: hand, useful: [activity, gait], net: conv-1d, sticky: true}]
attacks:
  outside: {kind: attribute-inference, auxiliary: 50, knowledge: [unaware, aware]}
budgets: [50]
"""
SIZES = {"train": 500, "validation": 50, "auxiliary": 60, "test": 100}


def replaced(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


def test_one_obfuscator_is_planned_for_a_data_set_and_a_seed() -> None:
    plan = expand(parse(TEXT), lambda _spec: SIZES)
    assert [(each.recipe.defence, each.recipe.seed) for each in plan.obfuscators] == [
        ("pass", 0),
        ("pass", 1),
    ]
    assert {each.recipe.data.name for each in plan.obfuscators} == {"synthmotion"}
    assert plan.obfuscators[0].recipe.parameters == {"private": "hand", "useful": ["activity", "gait"]}
    by_seed = {each.recipe.seed: each.artifact for each in plan.obfuscators}
    seeds = {model.id: model.seed for model in plan.models}
    chains: dict[str, list[Any]] = {each.id: each.local.spec() for each in (*plan.streams, *plan.probes)}
    named = {name: chain[0]["pass"] for name, chain in chains.items() if chain}
    assert {name for name in named if name.endswith((".u0", ".device0"))} == set(named)
    assert len(named) == 2 * 2 * 2 * 2  # a stream and a probe for each provider, defence and seed
    for name, given in named.items():
        assert given["artifact"] == by_seed[seeds[name.partition(".")[0]]]
        assert given["sticky"] == (".always." in name)
    # Where the data has no hand, the defence is left out.
    assert {trial.result.defence for trial in plan.trials if trial.result.provider == "income"} == {"none"}


def test_what_users_do_by_themselves_is_trained_too() -> None:
    local = "samples: 100, defence: [pass: {private: hand, net: conv-1d}]}"
    text = replaced("samples: 100}", local)
    text = text.replace("  income: {data: census, target: income, sensitive: gender, release: sample}\n", "")
    text = text.replace("  census: {name: adult}\n", "")
    plan = expand(parse(text), lambda _spec: SIZES)
    assert len(plan.obfuscators) == 4
    [undefended] = [each for each in plan.streams if each.id == "by-gait-s1.none.u0"]
    assert undefended.local.spec()[0]["pass"]["private"] == "hand"
    assert undefended.local.spec()[0]["pass"]["artifact"] in {each.artifact for each in plan.obfuscators}


def test_the_obfuscators_files_do_not_rename_the_answers() -> None:
    plan = expand(parse(TEXT), lambda _spec: SIZES)
    probe = next(each for each in plan.probes if each.local)
    [model] = [each for each in plan.models if each.id == probe.model]
    [policy] = [each for each in plan.policies if each.defence == probe.defence]
    jobs = [
        probe.job(model, policy, probe.spans[0], url="u", account="a", name="n", obfuscators=files)
        for files in ({}, {probe.local.spec()[0]["pass"]["artifact"]: digest("a file")})
    ]
    assert jobs[0].identity() == jobs[1].identity()
    assert jobs[1].obfuscators != jobs[0].obfuscators


@pytest.mark.parametrize(
    ("old", "new", "place", "path", "said", "suggestion"),
    [
        ("private: hand, ", "private: hnad, ", (15, 27), "private", "no attribute 'hnad'", "hand"),
        ("[activity, gait]", "[activity, gate]", (15, 52), "useful[1]", "no attribute 'gate'", "gait"),
        ("[activity, gait]", "[gaits]", (15, 41), "useful", "no attribute 'gaits'", "gait"),
        ("useful: [activity, gait], net: conv-1d", "net: conv-2d", (15, 38), "net", "channels", "conv-1d"),
        ("useful: [activity, gait], net: conv-1d", "net: conv1", (15, 38), "net", "unknown net", "conv-1d"),
        ("useful: [activity, gait], net: conv-1d", "net: hbc", (15, 38), "net", "takes picture", None),
        (", net: conv-1d}", ", skew: {hand: [0.2, 0.3, 0.5]}, net: mlp}", (15, 17), "", "2 classes, 3", None),
    ],
)  # fmt: skip
def test_a_defence_that_the_data_cannot_train_is_told_with_its_place(
    old: str, new: str, place: tuple[int, int], path: str, said: str, suggestion: str | None
) -> None:
    text = replaced(old, new)
    text = text.replace(
        "  always: [pass: {private: hand, useful: [activity, gait], net: conv-1d, sticky: true}]\n", ""
    )
    [found] = mistakes_of(text)
    assert said in found["message"]
    assert found["path"] == f"defences.hides[0].pass{'.' if path else ''}{path}"
    assert (found["line"], found["column"]) == place
    assert found["suggestion"] == suggestion


@pytest.mark.parametrize("link", ["dppix: 1.0", "snow: 0.5"])
def test_a_defence_of_pictures_is_not_for_other_samples(link: str) -> None:
    [found] = mistakes_of(replaced("pass: {private: hand, useful: [activity, gait], net: conv-1d}", link))
    assert found["message"] == "it takes picture, not series"
    assert (found["line"], found["path"]) == (15, f"defences.hides[0].{link.partition(':')[0]}")


def test_what_all_providers_are_asked_for_cannot_be_private() -> None:
    income = "  income: {data: census, target: income, sensitive: gender, release: sample}\n"
    text = replaced(income, "").replace("  census: {name: adult}\n", "")
    swapped = text.replace("private: hand, useful: [activity, gait]", "private: [gait, activity]")
    swapped = swapped.replace(", sticky: true", ", sticky: true, useful: hand")
    told = [(m["line"], m["path"], m["message"].partition(":")[0]) for m in mistakes_of(swapped)]
    said = "'activity' is what provider 'by-activity' is asked for"
    assert told == [
        (13, "defences.hides[0].pass.private", said),
        (14, "defences.always[0].pass.private", said),
    ]
    # It can be hidden from one of two providers.
    alone = text.replace("private: hand, useful: [activity, gait]", "private: gait, useful: activity")
    plan = expand(parse(alone), lambda _spec: SIZES)
    found = {(each.result.provider, each.result.defence) for each in plan.trials}
    assert found == {("by-activity", each) for each in ("none", "hides", "always")} | {("by-gait", "none")}


def test_the_examples_of_the_docs_are_scenarios() -> None:
    docs = Path(__file__).parents[2] / "docs"
    text = (docs / "obfuscation.md").read_text() + (docs / "probing.md").read_text()
    example, probing = re.findall(r"(?ms)^```yaml\n(.*?)^```", text)
    other = yaml.safe_dump({**yaml.safe_load(example), **yaml.safe_load(probing)})
    probed = expand(parse(other))
    assert {each.result.attack for each in probed.trials} == {"probe"}
    assert {each.result.defence for each in probed.trials} == {"none", "substitutes"}
    plan = expand(parse(example))
    assert [each.recipe.defence for each in plan.obfuscators] == ["pass"] * 3
    assert plan.obfuscators[0].recipe.parameters == {
        "private": "hand",
        "substitutes": 256,
        "useful": "activity",
    }
    assert {each.result.defence for each in plan.trials} == {"none", "substitutes"}
