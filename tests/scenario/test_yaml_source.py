"""Reading YAML: every value with its line, nothing unsafe, nothing larger than a scenario."""

import contextlib
import json
import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from leakrange.scenario.mistakes import Mistakes
from leakrange.scenario.yaml_source import MAX_BYTES, Source, read
from leakrange.wire.errors import InvalidScenario


def sound(text: str | bytes) -> Source:
    mistakes = Mistakes()
    source = read(text, mistakes)
    mistakes.raise_if_any()
    return source


def mistakes_of(text: str | bytes) -> list[dict[str, Any]]:
    with pytest.raises(InvalidScenario) as caught:
        sound(text)
    return caught.value.mistakes


def test_every_key_and_value_has_its_place() -> None:
    source = sound("a: 1\nb:\n  - x\n  - {c: 2}\n")
    assert source.value == {"a": 1, "b": ["x", {"c": 2}]}
    assert source.locate(("a",)) == (1, 4)
    assert source.locate(("a",), key=True) == (1, 1)
    assert source.locate(("b", 1, "c")) == (4, 9)
    assert source.locate(("b", 1, "c"), key=True) == (4, 6)
    # What is not there is told at what should hold it.
    assert source.locate(("b", 1, "missing")) == (4, 5)
    assert source.locate(("c", "d")) == (1, 1)


def test_scalars_are_those_of_json() -> None:
    text = "[no, on, off, yes, y, 1e-3, 010, 1:30, 2020-01-01, 0x10, ~, null, true, -1.5, '1', .5]"
    assert sound(text).value == [
        *("no", "on", "off", "yes", "y"),
        *(0.001, 10, "1:30", "2020-01-01", "0x10"),
        *(None, None, True, -1.5, "1", 0.5),
    ]


def test_merged_mappings_keep_the_places_of_what_they_merge() -> None:
    source = sound("base: &b {x: 1, y: 2}\none: {<<: *b, y: 3}\ntwo:\n  <<: [*b, {z: 4}]\n")
    assert source.value["one"] == {"x": 1, "y": 3}
    assert source.value["two"] == {"x": 1, "y": 2, "z": 4}
    assert source.locate(("one", "x")) == (1, 14)
    assert source.locate(("one", "y")) == (2, 18)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(blacklist_categories=("Cs", "Cc"), blacklist_characters="\ufeff\ufffe\uffff")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="ascii", categories=("L", "N"))), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(value=JSON, indent=st.sampled_from([None, 2, "\t"]))
@settings(max_examples=150, deadline=None)
def test_json_is_read_as_json_reads_it(value: Any, indent: int | str | None) -> None:
    assert sound(json.dumps(value, indent=indent)).value == value


class Quoting(yaml.SafeDumper):
    """Writes text in quotes, for 1.2 takes for numbers some that PyYAML leaves bare."""


Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, '"'))


@given(value=JSON, width=st.sampled_from([20, 80]), flow=st.booleans(), escaped=st.booleans())
@settings(max_examples=150, deadline=None)
def test_what_yaml_writes_is_read_back(value: Any, width: int, flow: bool, escaped: bool) -> None:
    written = yaml.dump(
        value, Dumper=Quoting, width=width, default_flow_style=flow, allow_unicode=not escaped
    )
    assert sound(written).value == value


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, "'a' stands here twice, first in line 1"),
        ("a: {b: 1,\n    b: 2}\n", 2, 5, "'b' stands here twice"),
        ("a: [1\nb: 2\n", 2, 2, "not readable as YAML"),
        ("a:\n\t- 1\n", 2, 1, "not readable as YAML"),
        ("a: *nobody\n", 1, 4, "undefined alias"),
        ("a: 1\n---\nb: 2\n", 2, 1, "expected a single document"),
        ("a: !!python/object/apply:os.system [id]\n", 1, 4, "tag"),
        ("x: 1\na: !!python/name:os.system\n", 2, 4, "the tag"),
        ("a: !!int abc\n", 1, 4, "'abc' is no whole number"),
        ("a: !!float [1]\n", 1, 4, "the tag"),
        ("1: a\n", 1, 1, "a key must be text: write '1'"),
        ("a: 1\n[b]: 2\n", 2, 1, "a key must be text"),
        ("a: {<<: 3}\n", 1, 9, "'<<' merges a mapping"),
        ("a: 1\nb: \x07\n", 2, 4, "control characters"),
        (b"a: 1\nb: \xff\xfe\n", 2, 1, "not UTF-8"),
        ("a: !!set {x}\n", 1, 4, "the tag"),
        ('{"\\ud83d": 1}', 1, 2, "half a character"),
        ('a: "\\ud83d"\n', 1, 4, "is no text"),
        ("", 1, 1, "empty"),
        ("# only a comment\n", 1, 1, "empty"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(text: str | bytes, line: int, column: int, said: str) -> None:
    [mistake] = mistakes_of(text)
    assert said in mistake["message"]
    assert (mistake["line"], mistake["column"]) == (line, column)


LAUGHS = "a0: &a0 [l, l, l, l, l, l, l, l, l]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 12)
)
MERGES = "a0: &a0 {k: 1}\n" + "".join(
    f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}\n" for i in range(1, 20)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LAUGHS, "counting what its aliases stand for"),
        (MERGES, "what '<<' merges"),
        ("a: &a {<<: [*a, *a]}\n", "merges"),
        ("a: &a [*a]\n", "following aliases"),
        ("a: &a {<<: *a}\n", "merges a mapping with itself"),
        ("[" * 5000, "nested deeper"),
        ('{"a":' * 5000, "nested deeper"),
        ("- " * 5000, "nested deeper"),
        ("[" + "1," * 50_000 + "]", "values"),
        ("x" * (MAX_BYTES + 1), "characters"),
        ("a: " + "9" * 100_000, "is no whole number"),
    ],
)
def test_bombs_are_refused_quickly(text: str, said: str) -> None:
    started = time.process_time()
    [mistake] = mistakes_of(text)
    assert said in mistake["message"]
    assert 1 <= mistake["line"] <= text.count("\n") + 1
    assert time.process_time() - started < 10


@given(text=st.text(max_size=200) | st.text("{}[]:,-&*<!'\"\n #|>%@ab1", max_size=60))
@settings(max_examples=300, deadline=None)
def test_nothing_makes_the_reader_fall_over(text: str) -> None:
    with contextlib.suppress(InvalidScenario):
        read(text, Mistakes())
