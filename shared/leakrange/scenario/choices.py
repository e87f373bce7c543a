"""The alternatives that the schema of scenarios allows at a place of an unfinished scenario."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from leakrange.scenario.unfinished import CURSOR, entries

__all__ = ["Alternatives", "Place", "Schema", "allowed_at", "flat", "objects", "property_of", "summary"]

Schema = dict[str, Any]
Place = tuple[str | int, ...]


@dataclass(frozen=True)
class Alternatives:
    """The alternatives that are left at a place, given what is written there and around it; ``value`` is what
    is there."""

    alternatives: list[Schema]
    value: Any


def allowed_at(schema: Schema, document: Any, place: Place) -> Alternatives:
    """The alternatives at ``place`` of a document of plain values."""
    chosen = Alternatives(list(flat(schema, schema)), document)
    for step in place:
        chosen = _down(schema, chosen, step)
    return chosen


def flat(schema: Schema, part: Schema) -> Iterator[Schema]:
    """The alternatives of a part of the schema: without references, each with the nearest description and
    default."""
    described: Schema = {key: part[key] for key in ("description", "default") if key in part}
    if reference := part.get("$ref"):
        for each in flat(schema, schema["$defs"][reference.rpartition("/")[2]]):
            yield {**each, **described}
    elif choices := part.get("anyOf"):
        for choice in choices:
            yield from ({**each, **described} for each in flat(schema, choice))
    else:
        yield part


def _down(schema: Schema, chosen: Alternatives, step: str | int) -> Alternatives:
    """Take one step along a place, in the schema and in the document at once."""
    below: Any
    if isinstance(step, int):
        parts = [each["items"] for each in chosen.alternatives if "items" in each]
        items = chosen.value if isinstance(chosen.value, list) else []
        below = items[step] if step < len(items) else None
    else:
        properties = (property_of(each, step) for each in objects(chosen))
        parts = [part for part in properties if part is not None]
        below = entries(chosen.value).get(step)
    return Alternatives(_distinct(each for part in parts for each in flat(schema, part)), below)


def objects(chosen: Alternatives) -> list[Schema]:
    """Return the alternatives that are objects and agree with the written keys and constant values; all
    objects if none does."""
    given = [(key, value) for key, value in entries(chosen.value).items() if key != CURSOR]
    every = [each for each in chosen.alternatives if each.get("type") == "object"]
    fit = [each for each in every if all(_agrees(each, *pair) for pair in given)]
    return fit or [each for each in every if all(_constant(each, *pair) for pair in given)] or every


def _agrees(schema: Schema, key: str, value: Any) -> bool:
    return property_of(schema, key) is not None and _constant(schema, key, value)


def _constant(schema: Schema, key: str, value: Any) -> bool:
    """Whether the value is the one that the schema wants there, or not yet written."""
    wanted = schema.get("properties", {}).get(key, {})
    if isinstance(value, dict | list) or value in (CURSOR, "", None):
        return True
    return bool(wanted.get("type") != "null" and wanted.get("const", value) == value)


def property_of(schema: Schema, key: str) -> Schema | None:
    """Return the schema of an object's property ``key``; None if it has no such key."""
    value = schema.get("properties", {}).get(key)
    if value is None:
        value = schema.get("additionalProperties", None if "properties" in schema else True)
    if value is True:
        return {}
    return value if isinstance(value, dict) else None


def _distinct(schemas: Iterable[Schema]) -> list[Schema]:
    distinct: list[Schema] = []
    for each in schemas:
        if each not in distinct:
            distinct.append(each)
    return distinct


def summary(alternatives: list[Schema], description: str | None = None) -> str:
    """Describe in one line what may stand there: the schema's description, type, bounds and default."""
    text = description or next((each["description"] for each in alternatives if each.get("description")), "")
    kinds = dict.fromkeys(kind for each in alternatives if (kind := _kind(each)))
    default = next((each["default"] for each in alternatives if each.get("default") is not None), None)
    plain = " ".join(text.split("\n\n")[0].split()).replace("``", "").rstrip(".")
    parts = [plain, " or ".join(kinds)]
    if isinstance(default, bool):
        parts.append(f"default {str(default).lower()}")
    elif isinstance(default, str | int | float):
        parts.append(f"default {default}")
    return "; ".join(part for part in parts if part)


def _kind(schema: Schema) -> str:
    kind = schema.get("type")
    if kind in ("integer", "number"):
        bounds = {
            "from": schema.get("minimum"),
            "above": schema.get("exclusiveMinimum"),
            "to": schema.get("maximum"),
            "below": schema.get("exclusiveMaximum"),
        }
        word = "whole number" if kind == "integer" else "number"
        return " ".join([word, *(f"{name} {value}" for name, value in bounds.items() if value is not None)])
    if kind == "string" and "enum" not in schema:
        return "text"
    return {"boolean": "true or false", "array": "a list"}.get(str(kind), "")
