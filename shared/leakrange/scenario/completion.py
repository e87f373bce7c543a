"""Proposals for a place of a scenario: keys of the section, registered names, attributes of the named data
set, names of the scenario's own parties.

It works on text that is still being written, from the schema and the registries alone, so that an entry of a
plugin is proposed like any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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
from leakrange.scenario.naming import Kind, Names, note_of
from leakrange.scenario.schema import scenario_schema
from leakrange.scenario.unfinished import CURSOR, Unfinished, entries, read_unfinished
from leakrange.scenario.yaml_source import MAX_BYTES

__all__ = ["Completion", "Proposal", "complete"]

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
    colon = re.match(r"[ \t]*:(?=\s|$)", here[end:]) is not None
    alone = not here[:start].strip(" \t")
    # What stands alone on its line can be a key, which is none in YAML without its colon.
    lines[row] = here[:start] + CURSOR + (":" if alone and not colon else "") + here[end:]
    proposals = _Proposals(read_unfinished("\n".join(lines)), alone=alone, colon=colon).at_cursor()
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


class _Proposals:
    """Proposals for the cursor of one text. ``alone`` tells whether nothing stands before the word on its
    line, ``colon`` whether one follows it."""

    def __init__(self, text: Unfinished, *, alone: bool, colon: bool) -> None:
        self.source, self.anchors = text.source, text.anchors
        self.names = Names(text.source.value)
        self.alone, self.colon = alone, colon

    def at_cursor(self) -> Iterator[Proposal]:
        for name in self.anchors or ():
            yield Proposal(insert=name, label=name, kind="anchor", note="what that anchor stands for")
        where = _cursor(self.source.value, ())
        if where is None:
            return
        role, place = where
        chosen = allowed_at(scenario_schema(), self.source.value, place)
        if self.alone and not self.colon and chosen.value == {CURSOR: None}:
            # The colon is not the writer's: the word may be a value as well.
            listed = bool(place) and isinstance(place[-1], int)
            role = "key" if objects(chosen) and not listed else "value"
        if role == "key":
            yield from self._keys(place, chosen)
        elif place:
            yield from self._values(place, chosen.alternatives)

    def _keys(self, place: Place, chosen: Alternatives) -> Iterator[Proposal]:
        """Propose the keys that all matching alternatives have, else those that tell them apart; without
        those already written."""
        alternatives = [each for each in objects(chosen) if each.get("properties")]
        keys, begin = self.source.keys, self.source.values[place]
        # What a mapping merges stands above it, and can be written anew.
        there = {key for key in entries(chosen.value) if keys[(*place, key)] >= begin}
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
                key, summary([each for part in parts for each in flat(scenario_schema(), part)], description)
            )
        for each in chosen.alternatives:
            for key in each.get("propertyNames", {}).get("enum", ()):
                if key not in there:
                    yield self._key(key, summary(list(flat(scenario_schema(), property_of(each, key) or {}))))

    def _key(self, key: str, note: str) -> Proposal:
        return Proposal(insert=key if self.colon else f"{key}: ", label=key, kind="key", note=note)

    def _values(self, place: Place, alternatives: list[Schema]) -> Iterator[Proposal]:
        single = [each for each in alternatives if each.get("type") not in ("array", "object")]
        if single:
            yield from self._single(place, single)
            return
        for each in alternatives:
            if each.get("type") != "array":
                continue
            if not each.get("minItems"):
                yield Proposal(insert="[]", label="[]", kind="value", note="nothing")
            for item in self._single((*place, 0), list(flat(scenario_schema(), each.get("items", {})))):
                yield item.model_copy(update={"insert": f"[{item.insert}]"})

    def _single(self, place: Place, alternatives: list[Schema]) -> Iterator[Proposal]:
        """Propose names and plain values."""
        text = any(each.get("type") == "string" and "enum" not in each for each in alternatives)
        if text and (named := self.names.at(place)) is not None:
            for name, note in named[1].items():
                yield Proposal(insert=name, label=name, kind=named[0], note=note)
            return
        for each in alternatives:
            for value in _listed(each):
                kind, note = note_of(place, value)
                yield Proposal(insert=value, label=value, kind=kind, note=note)
        for each in alternatives:
            default = each.get("default")
            if isinstance(default, int | float | str) and not isinstance(default, bool) and default != "":
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


def _cursor(value: Any, place: Place) -> tuple[Literal["key", "value"], Place] | None:
    """The role of the word at the cursor, and the place of the mapping that it is a key of, or its own."""
    if value == CURSOR:
        return "value", place
    if isinstance(value, dict) and CURSOR in value:
        return "key", place
    parts: Iterable[tuple[str | int, Any]] = ()
    if isinstance(value, dict | list):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
    for step, part in parts:
        if (role := _cursor(part, (*place, step))) is not None:
            return role
    return None
