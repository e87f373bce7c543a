"""Unfinished scenarios: what is whole is read as YAML reads it, what is not still tells where things are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.shipped import shipped
from leakrange.scenario.unfinished import CURSOR, MOST_REPAIRS, read_unfinished
from leakrange.scenario.yaml_source import read


def values(text: str) -> Any:
    return read_unfinished(text).source.value


@pytest.mark.parametrize("name", list(shipped()))
def test_whole_scenarios_are_read_as_the_language_reads_them(name: str) -> None:
    text = shipped()[name].text
    assert values(text) == read(text, Mistakes()).value


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a: {b: 1, c: [x, y\nd: 2", {"a": {"b": 1, "c": ["x", "y"]}, "d": 2}),
        ("a:\n  b: {c: 1\n  d: 2", {"a": {"b": {"c": 1}, "d": 2}}),
        ("a:\n- b\n- c: 1\n  d: 2\ne: 3", {"a": ["b", {"c": 1, "d": 2}], "e": 3}),
        ("a: [round: {decimals: 1}, argmax]", {"a": [{"round": {"decimals": 1}}, "argmax"]}),
        ("a: |\n  b: no key\nc: 1", {"a": "b: no key\n", "c": 1}),
        ("a: >\n  b: [no list\nc: 1", {"a": "b: [no list\n", "c": 1}),
        ("a: 'it''s # no comment' # one\nb: \"x: y\"", {"a": "it's # no comment", "b": "x: y"}),
        ("a: &x {b: 1}\nc: {<<: *x, b: 2, d: 3}", {"a": {"b": 1}, "c": {"b": 2, "d": 3}}),
        ('{"a": [1,\n2],\n"b": {}}', {"a": [1, 2], "b": {}}),
        ("a: {b: , c: 1}", {"a": {"b": None, "c": 1}}),
        ("a: [b, c # one more\nd: 1", {"a": ["b", "c"], "d": 1}),
        ("a: [b, # c: [\n  d]\ne: x [\nf: &g [h]", {"a": ["b", "d"], "e": "x [", "f": ["h"]}),
        ("a: {b: *not-yet, c: 1}", {"a": {"b": None, "c": 1}}),
        ("a:\n  b: [1,\n    2\n\n  # here\n  c: 3", {"a": {"b": [1, 2], "c": 3}}),
        ("a: {\n  b: 1,\n  c: 2\n}\nd: 3", {"a": {"b": 1, "c": 2}, "d": 3}),
    ],
)
def test_what_is_open_ends_where_the_indentation_says(text: str, wanted: Any) -> None:
    assert values(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a: b: c\nd: 1", {"a": None, "d": 1}),
        ("a: 1\nb\nc: 2", {"a": 1, "c": 2}),
        ("a: 'x\nb: 1", {"a": None, "b": 1}),
        ("a: \"x\nb: 1\nc: 'y'", {"a": None, "b": 1, "c": "y"}),
        (
            "a: %y\nb: [x]]\nc: {d: 1, e: f: g}\nh: 2",
            {"a": None, "b": ["x"], "c": {"d": 1, "e": None}, "h": 2},
        ),
        ("a:\n\tc: \x07\n\td: 1", {"a": {"c": "\ufffd", "d": 1}}),
        ("a: 1\n---\nb: 2", {"a": 1, "b": 2}),
    ],
)
def test_what_makes_no_sense_is_left_out(text: str, wanted: Any) -> None:
    assert values(text) == wanted


def test_so_many_mistakes_are_no_scenario() -> None:
    assert values("a: b: c\n" * (MOST_REPAIRS + 1)) is None


def test_an_alias_at_the_cursor_can_be_of_the_anchors_above_it() -> None:
    text = f"a: &one {{b: 1}}\n# &no {{}}\nc: &two [*one, *{CURSOR}]\nd: &three {{}}"
    assert read_unfinished(text).anchors == ("one", "two")
    assert read_unfinished(text.replace("*the", "the")).anchors is None


@given(st.text(alphabet="ab :-#&*<{}[],'\"|>\n\t", max_size=80))
@settings(max_examples=300, deadline=None)
def test_nothing_makes_it_fail(text: str) -> None:
    read_unfinished(text)


@pytest.mark.parametrize(
    "text",
    [
        "- " * 50_000,
        "[{" * 50_000,
        "&a " * 50_000,
        "&a [*a, " * 20_000,
        "a: " * 50_000,
        "a [" * 50_000,
        "&" * 150_000,
    ],
)
def test_deep_nesting_makes_it_neither_fail_nor_slow(text: str) -> None:
    read_unfinished(text)
