"""Completion proposes what the language takes, at any place of any text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakrange.data import datasets
from leakrange.scenario.completion import Completion, Proposal, complete
from leakrange.scenario.language import parse
from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.shipped import shipped
from leakrange.scenario.yaml_source import MAX_BYTES, read
from leakrange.wire.errors import InvalidScenario

TEXTS = [one.text for one in shipped().values()]
DATA = "data:\n  hand: {name: digits, size: 16}\n  drawn: synthfaces\n"


def at(text: str) -> Completion:
    """The completion where ``|`` stands."""
    before, _, after = text.partition("|")
    return complete(before + after, before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)


def labels(text: str) -> list[str]:
    return [each.label for each in at(text).proposals]


def one(text: str, label: str) -> Proposal:
    [found] = [each for each in at(text).proposals if each.label == label]
    return found


def inserted(text: str, proposal: Proposal, found: Completion) -> str:
    lines = text.split("\n")
    row = lines[found.line - 1]
    lines[found.line - 1] = row[: found.start - 1] + proposal.insert + row[found.end - 1 :]
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("|", ["name", "data", "providers", "attacks"]),  # what is needed comes first
        ("name: x\nda|", ["data"]),
        (DATA + "providers:\n  p: {beh|", ["behaviour"]),
        (DATA + "providers:\n  p:\n    behaviour: cur|", ["curious"]),
        (DATA + "providers:\n  p: {behaviour: curious, method: |}", ["convex", "mixture"]),
        (DATA + "providers:\n  p: {behaviour: vicious, dec|}", ["decoder"]),
        (DATA + "providers:\n  p:\n    data: |", ["hand", "drawn"]),
        (DATA + "providers:\n  p: {data: hand, target: |", ["digit", "parity"]),
        (DATA + "providers:\n  p: {data: drawn, target: |", ["age", "hair"]),
        (DATA + "providers:\n  a: &a {data: drawn}\n  b: {<<: *a, target: s|", ["skin", "skin-2", "smile"]),
        (DATA + "providers:\n  a: &one {data: drawn}\n  b: {<<: *|", ["one"]),
        (
            DATA + "providers: {p: {data: drawn}}\nattacks:\n  i: {kind: attribute-inference, providers: [|",
            ["p"],
        ),
        (
            DATA + "providers: {p: {data: drawn}}\n"
            "attacks: {i: {providers: p, kind: attribute-inference, sensitive: |",
            ["age", "hair"],
        ),
        ("attacks:\n  inside:\n    kind: cur|", ["curious-decoder"]),
        ("attacks: {i: {kind: attribute-inference, aux|}}", ["auxiliary"]),
        ("attacks: {i: {kind: attribute-inference, knowledge: [una|", ["unaware"]),
        ("defences:\n  a: [rou|", ["round"]),
        ("defences:\n  a:\n  - rou|", ["round"]),
        ("defences: {a: [round: {|", ["decimals", "figures"]),
        ("defences:\n  a:\n  - round:\n      dec|", ["decimals"]),
        ("defences:\n  none: |", ["[]"]),
        (DATA + "defences: {a: [pass: {private: sla|", ["slant"]),
        ("data: dig|", ["digits"]),
        ("data: {name: synthf|", ["synthfaces"]),
        ("net: {name: hb|", ["hbc", "hbc-student"]),
        ("schedule:\n  optimiser: {name: ada|", ["adam", "adamw"]),
        ("schedule: {bf16: |", ["true", "false"]),
        ("schedule: {epochs: |", ["15"]),
        ("clients:\n  phones: {upl|", ["uploads"]),
        ("load: {users: {hon|", ["honest"]),
    ],
)
def test_it_proposes_what_can_stand_there(text: str, wanted: list[str]) -> None:
    assert labels(text)[: len(wanted)] == wanted


def test_it_says_what_each_is() -> None:
    assert one("data: digi|", "digits").note == datasets["digits"].description
    assert one("attacks: {a: {kind: li|", "lira").note.startswith("likelihood ratio")
    assert one("defences: {a: [rou|", "round").note.endswith("(output stage)")
    assert one("data: {si|", "size").note == (
        "size is a picture's side in pixels (None: the set's own); whole number from 16 to 512"
    )
    assert one("schedule: {epo|", "epochs").note == "whole number from 1 to 10000; default 15"
    assert one(DATA + "providers: {p: {data: hand, target: par|", "parity").note == "whether the digit is odd"


def test_what_is_there_is_not_proposed_again() -> None:
    text = DATA + "providers:\n  p:\n    behaviour: honest\n    |\n    target: digit\n"
    assert {"behaviour", "target"}.isdisjoint(labels(text))
    assert "sensitive" in labels(text)
    # but the key that is being changed is
    assert labels(text.replace("|", "").replace("target:", "tar|:")) == ["target"]


def test_what_is_asked_for_is_not_proposed_as_hidden() -> None:
    assert "digit" not in labels(DATA + "providers: {p: {data: hand, target: digit, sensitive: |")


def test_a_key_gets_its_colon_once_and_replaces_the_whole_word() -> None:
    text = "schedule: {epo|chs: 3}"
    found = at(text)
    assert (found.start, found.end) == (12, 18)
    assert inserted(text.replace("|", ""), found.proposals[0], found) == "schedule: {epochs: 3}"
    assert one("schedule: {epo|}", "epochs").insert == "epochs: "


@pytest.mark.parametrize(
    "text",
    [
        "name: |",
        "description: |",
        "# data: |",
        "name: demo\n  |",
        "description: >\n  words |\nname: x",
        "providers: {p: {}}\nx-a: {|",
        "a: 'dig|'",
        "budgets: |[10]",
    ],
)
def test_nothing_is_proposed_where_nothing_is_known(text: str) -> None:
    assert labels(text) == []


def test_characters_are_counted_not_bytes() -> None:
    found = at("# δ\nname: 'δ😀'\nda|")
    assert (found.line, found.start, found.end) == (3, 1, 3)
    found = at("schedule: {x-😀: 1, epo|")
    assert found.start == len("schedule: {x-😀: 1, ") + 1


def test_a_text_that_is_too_long_gets_none() -> None:
    assert complete("a: 1\n" * MAX_BYTES, 1, 1).proposals == ()


@given(
    st.one_of(
        st.text(max_size=60),
        st.text(alphabet="abdet :-#&*<{}[],'\"|>\n\t", max_size=120),
        st.builds(lambda text, cut: text[: int(cut * len(text))], st.sampled_from(TEXTS), st.floats(0, 1)),
    ),
    st.integers(-5, 80),
    st.integers(-5, 80),
)
@settings(max_examples=100, deadline=None)
def test_it_never_fails_and_its_place_is_in_the_text(text: str, line: int, column: int) -> None:
    found = complete(text, line, column)
    lines = text.split("\n")
    assert 1 <= found.line <= len(lines)
    assert 1 <= found.start <= found.end <= len(lines[found.line - 1]) + 1
    assert all(each.insert and each.label and "\n" not in each.insert for each in found.proposals)


def unknown(text: str, found: Completion) -> list[str]:
    """What is said of the word at that place, if it is a name that is not known there."""
    try:
        parse(text)
    except InvalidScenario as error:
        return [
            each["message"]
            for each in error.extra["mistakes"]
            if (each["line"], each["column"]) == (found.line, found.start)
            and each["message"].startswith(("unknown", "there is no", "the data has no"))
        ]
    return []


def readable(text: str) -> bool:
    mistakes = Mistakes()
    try:
        read(text, mistakes)
    except InvalidScenario:
        return False
    return not mistakes


@given(st.data())
@settings(max_examples=50, deadline=None)
def test_what_it_inserts_makes_no_scenario_worse(data: st.DataObject) -> None:
    """Each proposal for a word of a ready scenario leaves YAML, and brings no name that is unknown there."""
    text = data.draw(st.sampled_from(TEXTS))
    place = data.draw(st.integers(0, len(text)))
    before = text[:place]
    line, column = before.count("\n") + 1, place - (before.rfind("\n") + 1) + 1
    found = complete(text, line, column)
    if not found.proposals:
        return
    proposal = data.draw(st.sampled_from(found.proposals))
    after = inserted(text, proposal, found)
    assert readable(after), (proposal, after.split("\n")[line - 1])
    if proposal.kind != "key":  # which is nothing yet without its value
        assert unknown(after, found) == [], proposal


def test_only_an_anchor_that_stands_above_can_be_referred_to() -> None:
    text = "x-a: &first {seeds: [1]}\nx-b: {<<: *}\nx-c: &second {seeds: [2]}\n"
    assert [each.label for each in complete(text, 2, 12).proposals] == ["first"]
    assert [each.label for each in complete(text + "x-d: {<<: *}\n", 4, 12).proposals] == ["first", "second"]
