"""YAML (or JSON, which is YAML) read into plain values, with the line and column of each.

Safe by construction: no tags but the plain ones, no file larger than `MAX_BYTES`, nothing nested deeper than
`MAX_DEPTH`, and no more than `MAX_VALUES` values once every alias is followed and every merge made. Scalars
are those of YAML's JSON schema (version 1.2), so that ``no`` and ``on`` are names and ``1e-3`` is a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn

import yaml

from leakrange.scenario.mistakes import Mark, Mistakes, Path

__all__ = ["MAX_BYTES", "MAX_DEPTH", "MAX_VALUES", "Composer", "Source", "read", "values_of"]

MAX_BYTES = 200_000
MAX_DEPTH = 24
MAX_VALUES = 20_000
PLAIN = "tag:yaml.org,2002:"
KINDS = {"str": "text", "bool": "true or false", "int": "whole number", "float": "number"}


class Composer(yaml.SafeLoader):
    """SafeLoader with the scalars of YAML 1.2 (JSON schema), of which only the composer is used.

    It refuses what is nested too deep before anything recursive sees it.
    """

    yaml_implicit_resolvers: dict[Any, Any] = {}

    def __init__(self, text: str, mistakes: Mistakes) -> None:
        super().__init__(text)
        self.mistakes = mistakes
        self.depth = self.nodes = 0

    def next_event(self) -> yaml.NodeEvent:
        """Return the event that the next node begins with, without taking it."""
        event: yaml.NodeEvent = self.peek_event()  # type: ignore[no-untyped-call]
        return event

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Take the events of the next node. Raises `InvalidScenario` if it is too deep, or one too many."""
        event = self.next_event()
        deeper = isinstance(event, yaml.CollectionStartEvent)
        self.depth += deeper
        self.nodes += 1
        if self.depth > MAX_DEPTH:
            self.mistakes.refuse((), f"nested deeper than {MAX_DEPTH} levels", mark=_mark(event))
        if self.nodes > 2 * MAX_VALUES:  # a key is a node as well
            self.mistakes.refuse((), f"a scenario may hold {MAX_VALUES} values", mark=_mark(event))
        node = super().compose_node(parent, index)
        self.depth -= deeper
        return node


for _kind, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("merge", r"<<", "<"),
):
    Composer.add_implicit_resolver(f"{PLAIN}{_kind}", re.compile(rf"^(?:{_pattern})$"), list(_first))


@dataclass
class Source:
    """A document as plain values, and where each key and value stands (nowhere, if it came as a dict)."""

    value: Any
    keys: dict[Path, Mark] = field(default_factory=dict)
    values: dict[Path, Mark] = field(default_factory=dict)
    scalars: set[Path] = field(default_factory=set)

    def locate(self, path: Path, *, key: bool = False) -> Mark | None:
        """Return the line and column of what stands at ``path`` (of its key, if ``key``), or of its stand-in:
        a value written short, else the key of the mapping that should hold it."""
        if path in self.values and not key:
            return self.values[path]
        if path in self.keys:
            return self.keys[path]
        for length in range(len(path) - 1, -1, -1):
            around = path[:length]
            if around in self.scalars:
                return self.values[around]
            if around in self.values:
                return self.keys.get(around, self.values[around])
        return self.values.get(path)


def read(text: str | bytes | dict[str, Any], mistakes: Mistakes) -> Source:
    """Read a document; every mistake goes into ``mistakes``. Raises `InvalidScenario` if it cannot be read at
    all."""
    if isinstance(text, dict):
        return Source(text)
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = error.object[: error.start].count(b"\n") + 1
            mistakes.refuse((), "the file is not UTF-8 text", mark=(line, 1))
    if len(text) > MAX_BYTES:
        last = (text.count("\n", 0, MAX_BYTES) + 1, 1)
        mistakes.refuse((), f"a scenario may have {MAX_BYTES} characters, this has {len(text)}", mark=last)
    if text.lstrip()[:1] in ("{", "["):
        # JSON may be indented by tabs, YAML may not.
        text = re.sub(r"(?m)^\t+", lambda tabs: " " * len(tabs[0]), text)
    try:
        node = Composer(text, mistakes).get_single_node()
        if node is None:
            mistakes.refuse((), "the scenario is empty", mark=(1, 1))
        return values_of(node, mistakes)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else None
        problem = " ".join(part for part in (error.context, error.problem) if part)
        mistakes.refuse((), f"not readable as YAML: {problem}", mark=place)
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        place = (before.count("\n") + 1, error.position - before.rfind("\n"))
        mistakes.refuse((), "control characters cannot stand in a scenario", mark=place)


def values_of(node: yaml.Node, mistakes: Mistakes) -> Source:
    """Return the values of a composed document, aliases followed and merges made; every mistake goes into
    ``mistakes``. Raises `InvalidScenario` if they are too many or too deep."""
    reader = _Reader(mistakes)
    reader.source.value = reader.value(node, ())
    return reader.source


def _mark(part: yaml.Node | yaml.Event) -> Mark:
    mark = part.start_mark
    assert mark is not None  # both are made by the parser
    return (mark.line + 1, mark.column + 1)


class _Reader:
    def __init__(self, mistakes: Mistakes) -> None:
        self.mistakes = mistakes
        self.source = Source(None)
        self.seen = 0

    def value(self, node: yaml.Node, path: Path) -> Any:
        self._count(node)
        if len(path) > MAX_DEPTH:
            self._refuse(node, f"nested deeper than {MAX_DEPTH} levels, following aliases")
        self.source.values[path] = _mark(node)
        if not isinstance(node, yaml.ScalarNode) and node.tag not in (f"{PLAIN}map", f"{PLAIN}seq"):
            self._no_tag(node, path)
            return None
        if isinstance(node, yaml.MappingNode):
            return {
                key: self._entry(key, key_node, value, path)
                for key, key_node, value in self._items(node, path)
            }
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, index)) for index, item in enumerate(node.value)]
        self.source.scalars.add(path)
        return self._scalar(node, path)

    def _refuse(self, node: yaml.Node, message: str) -> NoReturn:
        self.mistakes.refuse((), message, mark=_mark(node))

    def _count(self, node: yaml.Node) -> None:
        self.seen += 1
        if self.seen > MAX_VALUES:
            counted = "counting what its aliases stand for and what '<<' merges"
            self._refuse(node, f"a scenario may hold {MAX_VALUES} values, {counted}")

    def _entry(self, key: str, key_node: yaml.Node, value: yaml.Node, path: Path) -> Any:
        self.source.keys[(*path, key)] = _mark(key_node)
        return self.value(value, (*path, key))

    def _items(
        self, node: yaml.MappingNode, path: Path, merged: int = 0
    ) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        """The entries of a mapping, then those that it merges (``<<``) and does not have itself."""
        if merged > MAX_DEPTH:
            self._refuse(node, f"'<<' merges a mapping with itself, or {MAX_DEPTH} levels deep")
        first: dict[str, int] = {}
        merges: list[yaml.Node] = []
        for key_node, value in node.value:
            if merged:  # else it is counted as the value that it becomes
                self._count(key_node)
            if key_node.tag == f"{PLAIN}merge":
                merges += value.value if isinstance(value, yaml.SequenceNode) else [value]
                continue
            key = key_node.value
            if key_node.tag != f"{PLAIN}str":
                message = "a key must be text" + (f": write '{key}'" if isinstance(key, str) else "")
                self.mistakes.add(path, message, mark=_mark(key_node))
                continue
            try:
                key = _whole(key)
            except UnicodeError:
                self.mistakes.add(path, "a key holds half a character", mark=_mark(key_node))
                continue
            if key in first:
                message = f"{key!r} stands here twice, first in line {first[key]}"
                self.mistakes.add((*path, key), message, mark=_mark(key_node))
                continue
            first[key] = _mark(key_node)[0]
            yield key, key_node, value
        for source in merges:
            if not isinstance(source, yaml.MappingNode):
                self.mistakes.add(path, "'<<' merges a mapping, or a list of mappings", mark=_mark(source))
                continue
            for key, key_node, value in self._items(source, path, merged + 1):
                if key not in first:
                    first[key] = _mark(key_node)[0]
                    yield key, key_node, value

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        kind, text = node.tag.removeprefix(PLAIN), node.value
        try:
            if kind == "str":
                return _whole(text)
            if kind == "null":
                return None
            if kind == "bool":
                return {"true": True, "false": False}[text.lower()]
            if kind == "int":
                return int(text)
            if kind == "float":
                return float(text)
        except (ValueError, KeyError):
            self.mistakes.add(path, f"{text[:40]!a} is no {KINDS[kind]}", mark=_mark(node))
            return None
        self._no_tag(node, path)
        return None

    def _no_tag(self, node: yaml.Node, path: Path) -> None:
        self.mistakes.add(
            path, f"the tag {node.tag[:60]!r} is not read: write a plain value", mark=_mark(node)
        )


def _whole(text: str) -> str:
    """``text`` with the surrogate pairs that JSON writes joined; half a pair raises `UnicodeError`."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16")
