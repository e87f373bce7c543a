"""Proposals for a place of a scenario: keys of the section, registered names, attributes of the named data
set, names of the scenario's own parties.

It works on text that is still being written, from the schema and the registries alone, so that an entry of a
plugin is proposed like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from leakrange.scenario.choices import (
    Alternatives,
    Place,
    Schema,
    allowed_at,
    flat,
    objects,
    property_of,
    summary,
)
from leakrange.scenario.naming import Names, note_of
from leakrange.scenario.outline import (
    CURSOR,
    Alias,
    DocumentOutline,
    List,
    Map,
    Node,
    Scalar,
    outline,
    resolved,
)
from leakrange.scenario.schema import scenario_schema
from leakrange.scenario.yaml_source import MAX_BYTES

__all__ = ["Completion", "Proposal", "complete"]

Kind = Literal[
    "key", "value", "data set", "attribute", "behaviour", "attack", "defence", "net", "party", "anchor"
]
MOST = 200


class Proposal(BaseModel):
    """One thing that can be written: ``insert`` takes the place of the word at the cursor, ``label`` is what
    a list shows, ``note`` says in one line what it is."""

    model_config = ConfigDict(frozen=True)

    insert: str
    label: str
    kind: Kind
    note: str = ""


class Completion(BaseModel):
    """Proposals for the word in ``line`` that begins at column ``start`` and ends before ``end``, all counted
    from 1, in characters."""

    model_config = ConfigDict(frozen=True)

    line: int
    start: int
    end: int
    proposals: tuple[Proposal, ...] = ()


def complete(text: str, line: int, column: int) -> Completion:
    """Return what can stand at ``line`` and ``column`` (from 1, in characters; beyond the end is at the end).
    Proposals that begin with the word before the cursor come first, then those that contain it.

    Never raises. A text that is longer than a scenario may be gets no proposals.
    """
    lines = text.split("\n")
    row = min(max(line, 1), len(lines)) - 1
    here = lines[row]
    at = min(max(column, 1), len(here.rstrip("\r")) + 1) - 1
    start, end = _word(here, at)
    place = Completion(line=row + 1, start=start + 1, end=end + 1)
    beside = here[:start].rstrip(" \t").endswith(("]", "}", "'", '"'))
    beside = beside or re.match(r"[ \t]*($|\r|[,\]}#:])", here[end:]) is None
    if beside or len(text) > MAX_BYTES:
        return place  # beside what stands there already, nothing more can stand
    lines[row] = here[:start] + CURSOR + here[end:]
    colon = re.match(r"[ \t]*:(?=\s|$)", here[end:]) is not None
    above = "\n".join([*lines[:row], here[:start]])
    proposals = _Proposals(outline("\n".join(lines)), above, colon=colon).at_cursor()
    return place.model_copy(update={"proposals": _matching(proposals, here[start:at])})


def _word(line: str, at: int) -> tuple[int, int]:
    """Return the start and end of the word around an index. It begins with a letter or digit: no dash of a
    list."""
    start = end = at
    while start > 0 and (line[start - 1].isalnum() or line[start - 1] in "_./-"):
        start -= 1
    while start < at and not line[start].isalnum():
        start += 1
    while end < len(line) and (line[end].isalnum() or line[end] in "_./-"):
        end += 1
    return start, end


def _matching(proposals: Iterable[Proposal], word: str) -> tuple[Proposal, ...]:
    """Return each label once: first those that begin with the word, then those that contain it."""
    small, every = word.lower(), dict[str, Proposal]()
    for each in proposals:
        if small in each.label.lower():
            every.setdefault(each.label, each)
    matching = sorted(every.values(), key=lambda each: not each.label.lower().startswith(small))
    return tuple(matching[:MOST])


@cache
def _schema() -> Schema:
    return scenario_schema()


class _Proposals:
    """Proposals for the cursor of one text. ``above`` is the text before the word; ``colon`` tells whether
    one follows the word."""

    def __init__(self, text: DocumentOutline, above: str, *, colon: bool) -> None:
        self.root, self.anchors, self.alone = text.root, text.anchors, text.alone
        self.names = Names(text.root, text.anchors)
        self.above, self.colon = above, colon

    def at_cursor(self) -> Iterator[Proposal]:
        where = _cursor(self.root, ())
        if where is None:
            return
        role, place = where
        begins = self.alone and (not place or isinstance(place[-1], str))
        if role == "alias":
            for name in self.anchors:
                if name and re.search(rf"&{re.escape(name)}(?![^\s,\[\]{{}}])", self.above):
                    yield Proposal(insert=name, label=name, kind="anchor", note="what that anchor stands for")
        elif role == "key" or (begins and objects(self._allowed(place), self.anchors)):
            yield from self._keys(place)
        elif place:
            yield from self._values(place)

    def _allowed(self, place: Place) -> Alternatives:
        return allowed_at(_schema(), self.root, self.anchors, place)

    def _keys(self, place: Place) -> Iterator[Proposal]:
        """Propose the keys that all matching alternatives have, else those that tell them apart; without
        those already written."""
        chosen = self._allowed(place)
        alternatives = [each for each in objects(chosen, self.anchors) if each.get("properties")]
        mapping = resolved(chosen.node, self.anchors)
        there = {key for key, _ in mapping.pairs} if isinstance(mapping, Map) else set()
        every = dict.fromkeys(key for each in alternatives for key in _needed_first(each))
        common = [key for key in every if all(key in each["properties"] for each in alternatives)]
        for key in common or every:
            if key in there:
                continue
            having = [each for each in alternatives if key in each["properties"]]
            description = None if common else having[0].get("description")
            parts = [part for each in having if (part := property_of(each, key)) is not None]
            if all(part.get("type") == "null" for part in parts):
                continue
            yield self._key(
                key, summary([each for part in parts for each in flat(_schema(), part)], description)
            )
        for each in chosen.alternatives:
            for key in each.get("propertyNames", {}).get("enum", ()):
                if key not in there:
                    yield self._key(key, summary(list(flat(_schema(), property_of(each, key) or {}))))

    def _key(self, key: str, note: str) -> Proposal:
        return Proposal(insert=key if self.colon else f"{key}: ", label=key, kind="key", note=note)

    def _values(self, place: Place) -> Iterator[Proposal]:
        alternatives = self._allowed(place).alternatives
        single = [each for each in alternatives if each.get("type") not in ("array", "object")]
        if single:
            yield from self._single(place, single)
            return
        for each in alternatives:
            if each.get("type") != "array":
                continue
            if not each.get("minItems"):
                yield Proposal(insert="[]", label="[]", kind="value", note="nothing")
            for item in self._single((*place, 0), list(flat(_schema(), each.get("items", {})))):
                yield item.model_copy(update={"insert": f"[{item.insert}]"})

    def _single(self, place: Place, alternatives: list[Schema]) -> Iterator[Proposal]:
        """Propose names and plain values."""
        text = any(each.get("type") == "string" and "enum" not in each for each in alternatives)
        if text and (named := self.names.at(place)) is not None:
            for name, note in named[1].items():
                yield Proposal.model_validate({"insert": name, "label": name, "kind": named[0], "note": note})
            return
        for each in alternatives:
            for value in _listed(each):
                kind, note = note_of(place, value)
                yield Proposal.model_validate({"insert": value, "label": value, "kind": kind, "note": note})
        for each in alternatives:
            default = each.get("default")
            if isinstance(default, int | float | str) and not isinstance(default, bool):
                yield Proposal(insert=str(default), label=str(default), kind="value", note="the default")


def _needed_first(schema: Schema) -> list[str]:
    """Return the keys of an object, the required ones first."""
    fields: dict[str, Any] = schema["properties"]
    return [*(key for key in schema.get("required", ()) if key in fields), *fields]


def _listed(schema: Schema) -> list[str]:
    """The plain values that a schema lists."""
    values = [schema["const"]] if "const" in schema else list(schema.get("enum", ()))
    if schema.get("type") == "boolean":
        values = [True, False]
    return [str(each).lower() if isinstance(each, bool) else str(each) for each in values if each is not None]


def _cursor(node: Node | None, place: Place) -> tuple[Literal["key", "value", "alias"], Place] | None:
    """The role of the word at the cursor, and the place of the mapping that it is a key of, or its own."""
    if isinstance(node, Scalar):
        return ("value", place) if node.text == CURSOR and not node.quoted else None
    if isinstance(node, Alias):
        return ("alias", place) if node.name == CURSOR else None
    if isinstance(node, Map):
        for key, value in node.pairs:
            if key == CURSOR:
                return "key", place
            if (role := _cursor(value, (*place, key))) is not None:
                return role
    if isinstance(node, List):
        for index, item in enumerate(node.items):
            if (role := _cursor(item, (*place, index))) is not None:
                return role
    return None
