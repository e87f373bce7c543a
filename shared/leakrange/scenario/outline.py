"""Reads a scenario that is still being written: what stands where, as far as can be known.

It takes the part of YAML that scenarios are written in (block and flow collections, plain and quoted
scalars, anchors, aliases, merges) and refuses nothing: a bracket that is still open ends where the
indentation says so, and what makes no sense is passed over. `leakrange.scenario.yaml_source` is the reader
that judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

__all__ = [
    "CURSOR",
    "Alias",
    "DocumentOutline",
    "List",
    "Map",
    "Node",
    "Scalar",
    "entries",
    "outline",
    "resolved",
]

CURSOR = "\ue000"
"""A character of the private use area, which takes the place of the word that is being written."""
MAX_DEPTH = 24
HOPS = 8
"""So many aliases are followed from one place."""

_END = {
    # where a plain scalar ends: outside of brackets, and inside
    False: re.compile(r":(?=[ \t]|$)|[ \t]#|$"),
    True: re.compile(r":(?=[ \t,\[\]{}]|$)|[ \t]#|[,\[\]{}]|$"),
}
_NAME = re.compile(r"[^\s,\[\]{}]*")
_QUOTED = {"'": re.compile(r"'(?:[^']|'')*'?"), '"': re.compile(r'"(?:[^"\\]|\\.)*"?')}


@dataclass
class Scalar:
    """A value without parts."""

    text: str
    quoted: bool = False


@dataclass
class Alias:
    """``*name``."""

    name: str


@dataclass
class List:
    """A sequence."""

    items: list[Node | None] = field(default_factory=list)


@dataclass
class Map:
    """A mapping: keys and values in their order, a key perhaps twice."""

    pairs: list[tuple[str, Node | None]] = field(default_factory=list)


Node = Scalar | Alias | List | Map


@dataclass
class DocumentOutline:
    """The whole text. ``alone``: whether `CURSOR` is the first thing on its line."""

    root: Node | None
    anchors: dict[str, Node]
    alone: bool


class Token(NamedTuple):
    kind: Literal["key", "scalar", "quoted", "alias", "anchor", "dash", "[", "]", "{", "}", ","]
    text: str
    column: int
    first: bool
    """Whether nothing stands before it on its line."""


def resolved(node: Node | None, anchors: dict[str, Node]) -> Node | None:
    """The node, or what the alias stands for."""
    for _ in range(HOPS):
        if not isinstance(node, Alias):
            return node
        node = anchors.get(node.name)
    return None


def entries(node: Node | None, anchors: dict[str, Node]) -> dict[str, Node | None]:
    """Return the entries of a mapping, merged ones included; none for any other node."""
    merged: dict[str, Node | None] = {}
    waiting, seen = [node], set()
    while waiting:
        each = resolved(waiting.pop(0), anchors)
        if not isinstance(each, Map) or id(each) in seen:
            continue
        seen.add(id(each))
        for key, value in each.pairs:
            if key == "<<":
                waiting += value.items if isinstance(value, List) else [value]
            else:
                merged.setdefault(key, value)
    return merged


def outline(text: str) -> DocumentOutline:
    """Return the outline of ``text``."""
    reader = _Reader(list(_tokens(text)))
    root = reader.read()
    alone = any(token.first and token.text == CURSOR for token in reader.tokens)
    return DocumentOutline(root, reader.anchors, alone)


def _tokens(text: str) -> Iterator[Token]:
    depth, skipped, base = 0, -1, 0  # of brackets; the indent of a block scalar's key; that of the last line
    for line in text.split("\n"):
        line = line.rstrip("\r")
        indent = len(line) - len(line.lstrip(" "))
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if skipped >= 0:
            if indent > skipped:
                continue
            skipped = -1
        if depth and indent <= base:
            depth = 0  # what was opened above is still being written
        if not depth:
            # An open bracket may close in its own column.
            base = indent - (line[indent] in "[{")
        for token in _of_line(line, indent, depth):
            depth += (token.kind in ("[", "{")) - (token.kind in ("]", "}") and depth > 0)
            if token.kind == "scalar" and not depth and re.fullmatch(r"[|>][-+0-9]*", token.text):
                skipped = indent
            yield token


def _of_line(line: str, at: int, depth: int) -> Iterator[Token]:
    first = True
    while at < len(line):
        char = line[at]
        if char in " \t":
            at += 1
            continue
        if char == "#":
            return
        token, at = _token(line, at, depth, first)
        depth += (token.kind in ("[", "{")) - (token.kind in ("]", "}") and depth > 0)
        first = first and token.kind == "dash"
        yield token


def _token(line: str, at: int, depth: int, first: bool) -> tuple[Token, int]:
    char = line[at]
    if char in "[{" or (depth and char == ",") or ((depth or first) and char in "]}"):
        return Token(char, char, at, first), at + 1  # type: ignore[arg-type]
    if not depth and char == "-" and line[at + 1 : at + 2] in ("", " ", "\t"):
        return Token("dash", char, at, first), at + 1
    if char in "&*":
        name = _NAME.match(line, at + 1)
        assert name is not None  # it matches nothing, too
        return Token("anchor" if char == "&" else "alias", name[0], at, first), name.end()
    if char in _QUOTED:
        quoted = _QUOTED[char].match(line, at)
        assert quoted is not None  # it begins with the quote
        if line[quoted.end() : quoted.end() + 1] == ":":
            return Token("key", quoted[0].strip(char), at, first), quoted.end() + 1
        return Token("quoted", quoted[0].strip(char), at, first), quoted.end()
    end = _END[bool(depth)].search(line, at)
    assert end is not None  # the end of the line
    text, kind = line[at : end.start()].strip(), "key" if end[0] == ":" else "scalar"
    stop = end.end() if end[0] == ":" else end.start()
    return Token(kind, text, at, first), max(stop, at + 1)  # type: ignore[arg-type]


class _Reader:
    """Puts tokens together. ``open`` are the block collections around the present place, with their
    columns."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.anchors: dict[str, Node] = {}
        self.at = 0
        self.root: Node | None = None
        self.open: list[tuple[int, Map | List]] = []

    def read(self) -> Node | None:
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.first:
                self._dedent(token)
            self.at += 1
            self._take(token)
        return self.root

    def _dedent(self, token: Token) -> None:
        while self.open:
            column, around = self.open[-1]
            beside = column == token.column and isinstance(around, List) and token.kind != "dash"
            if column > token.column or beside:
                self.open.pop()
            else:
                return

    def _take(self, token: Token) -> None:
        if token.kind == "dash":
            around = self._within(token.column, List)
            if isinstance(around, List):
                around.items.append(None)
        elif token.kind == "key":
            around = self._within(token.column, Map)
            if isinstance(around, Map):
                around.pairs.append((token.text, None))
        elif token.kind == "anchor":
            self._anchor(token.text)
        else:
            self._put(token, self._value(token, 0))

    def _within(self, column: int, kind: type[Map] | type[List]) -> Map | List | None:
        """Return the open collection at that column, else a new one where a value is wanted."""
        if self.open and self.open[-1][0] == column and isinstance(self.open[-1][1], kind):
            return self.open[-1][1]
        if len(self.open) >= MAX_DEPTH:
            return None
        collection = kind()
        self._fill(collection)
        self.open.append((column, collection))
        return collection

    def _put(self, token: Token, value: Node | None) -> None:
        if value is None:
            return
        column, around = self.open[-1] if self.open else (-1, None)
        if token.first and isinstance(around, Map) and column == token.column and isinstance(value, Scalar):
            around.pairs.append((value.text, None))  # a key whose colon is not yet written
        else:
            self._fill(value)

    def _fill(self, value: Node) -> None:
        """Put a value where one is wanted; ignore it elsewhere."""
        if not self.open:
            self.root = self.root if self.root is not None else value
            return
        around = self.open[-1][1]
        if isinstance(around, Map) and around.pairs and around.pairs[-1][1] is None:
            around.pairs[-1] = (around.pairs[-1][0], value)
        elif isinstance(around, List) and around.items and around.items[-1] is None:
            around.items[-1] = value

    def _anchor(self, name: str) -> None:
        """Note what the anchor names: the value that follows."""
        while self.at < len(self.tokens) and self.tokens[self.at].kind == "anchor":
            name, self.at = self.tokens[self.at].text, self.at + 1
        if self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.first:
                self._dedent(token)
            before = len(self.open)
            self.at += 1
            self._take(token)
            node = self._last() if len(self.open) <= before else self.open[before][1]
            if node is not None:
                self.anchors[name] = node

    def _last(self) -> Node | None:
        if not self.open:
            return self.root
        around = self.open[-1][1]
        if isinstance(around, Map):
            return around.pairs[-1][1] if around.pairs else None
        return around.items[-1] if around.items else None

    def _value(self, token: Token, depth: int) -> Node | None:
        """The value that begins with the token, which is taken already."""
        if token.kind == "alias":
            return Alias(token.text)
        if token.kind in ("scalar", "quoted"):
            return Scalar(token.text, token.kind == "quoted")
        if token.kind == "{":
            return self._map(depth + 1)
        if token.kind == "[":
            return self._list(depth + 1)
        return None

    def _next(self, depth: int) -> Token | None:
        """Return the next token within brackets; None where they end or should have ended."""
        if self.at >= len(self.tokens) or depth > MAX_DEPTH:
            return None
        token = self.tokens[self.at]
        if token.first and token.column <= (self.open[-1][0] if self.open else -1):
            return None
        self.at += 1
        return token

    def _map(self, depth: int) -> Map:
        mapping, wanted, name = Map(), False, ""
        while (token := self._next(depth)) is not None and token.kind not in ("}", "]"):
            if token.kind == "key":
                mapping.pairs.append((token.text, None))
            elif token.kind == "anchor":
                name = token.text
                continue
            elif (value := self._value(token, depth)) is not None:
                self._named(name, value)
                if wanted:
                    mapping.pairs[-1] = (mapping.pairs[-1][0], value)
                elif isinstance(value, Scalar):
                    mapping.pairs.append((value.text, None))
            wanted, name = token.kind == "key", ""
        return mapping

    def _list(self, depth: int) -> List:
        sequence, wanted, name = List(), False, ""
        while (token := self._next(depth)) is not None and token.kind not in ("]", "}"):
            if token.kind == "key":
                sequence.items.append(Map([(token.text, None)]))
            elif token.kind == "anchor":
                name = token.text
                continue
            elif (value := self._value(token, depth)) is not None:
                self._named(name, value)
                pair = sequence.items[-1] if wanted else None
                if isinstance(pair, Map):
                    pair.pairs[-1] = (pair.pairs[-1][0], value)
                else:
                    sequence.items.append(value)
            wanted, name = token.kind == "key", ""
        return sequence

    def _named(self, name: str, value: Node) -> None:
        if name:
            self.anchors[name] = value
