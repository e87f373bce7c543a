"""Unfinished scenarios: what is whole is read as YAML reads it, what is not still tells where things are."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from leakrange.scenario.outline import DocumentOutline, List, Node, Scalar, entries, outline, resolved
from leakrange.scenario.shipped import shipped


class Texts(yaml.SafeLoader):
    """PyYAML with every scalar as text, and merges."""

    yaml_implicit_resolvers = {"<": [("tag:yaml.org,2002:merge", re.compile("^<<$"))]}


def plain(node: Node | None, text: DocumentOutline) -> Any:
    node = resolved(node, text.anchors)
    if isinstance(node, List):
        return [plain(item, text) for item in node.items]
    if isinstance(node, Scalar) or node is None:
        return node.text if node else ""
    return {key: plain(value, text) for key, value in entries(node, text.anchors).items()}


@pytest.mark.parametrize("name", list(shipped()))
def test_whole_scenarios_are_read_as_yaml_reads_them(name: str) -> None:
    text = shipped()[name].text
    found, wanted = outline(text), yaml.load(text, Texts)
    read = plain(found.root, found)
    for each in (read, wanted):
        each.pop("description", None)  # a folded text is passed over
    assert read == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a: {b: 1, c: [x, y\nd: 2", {"a": {"b": "1", "c": ["x", "y"]}, "d": "2"}),
        ("a:\n  b: {c: 1\n  d: 2", {"a": {"b": {"c": "1"}, "d": "2"}}),
        ("a:\n- b\n- c: 1\n  d: 2\ne: 3", {"a": ["b", {"c": "1", "d": "2"}], "e": "3"}),
        ("a: [round: {decimals: 1}, argmax]", {"a": [{"round": {"decimals": "1"}}, "argmax"]}),
        ("a: |\n  b: no key\nc: 1", {"a": "|", "c": "1"}),
        ("a: 'it''s # no comment' # one\nb: \"x: y\"", {"a": "it''s # no comment", "b": "x: y"}),
        ("a: &x {b: 1}\nc: {<<: *x, b: 2, d: 3}", {"a": {"b": "1"}, "c": {"b": "2", "d": "3"}}),
        ('{"a": [1,\n2],\n"b": {}}', {"a": ["1", "2"], "b": {}}),
        ("a: {b: , c: 1}", {"a": {"b": "", "c": "1"}}),
    ],
)
def test_what_is_open_ends_where_the_indentation_says(text: str, wanted: Any) -> None:
    found = outline(text)
    assert plain(found.root, found) == wanted


@given(st.text(alphabet="ab :-#&*<{}[],'\"|>\n\t", max_size=80))
@settings(max_examples=300, deadline=None)
def test_nothing_makes_it_fail(text: str) -> None:
    found = outline(text)
    entries(found.root, found.anchors)


@pytest.mark.parametrize(
    "text", ["- " * 50_000, "[{" * 50_000, "&a " * 50_000, "&a [*a, " * 20_000, "a: " * 50_000]
)
def test_deep_nesting_makes_it_neither_fail_nor_slow(text: str) -> None:
    found = outline(text)
    entries(found.root, found.anchors)
