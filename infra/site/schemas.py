"""JSON schemas as words and tables."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from words import cell

__all__ = ["described", "fields"]

Schema = Mapping[str, Any]
BOUNDS = {
    "minimum": "≥",
    "exclusiveMinimum": ">",
    "maximum": "≤",
    "exclusiveMaximum": "<",
    "minLength": "length ≥",
    "maxLength": "length ≤",
    "minItems": "items ≥",
    "maxItems": "items ≤",
}


def described(schema: Schema, links: Mapping[str, str] = MappingProxyType({})) -> str:
    """What a value is, in a few words. ``links`` says where the schemas are described that it refers to."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}]({links[name]})" if name in links else f"`{name}`"
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(described(each, links) for each in schema[word]))
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    kind = schema.get("type", "anything")
    if kind == "array":
        inner = described(schema["items"], links) if "items" in schema else "anything"
        return f"list of {inner}{_bounds(schema)}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"mapping to {described(schema['additionalProperties'], links)}"
    if kind == "string" and "format" in schema:
        return f"string ({schema['format']})"
    return f"{kind}{_bounds(schema)}"


def _bounds(schema: Schema) -> str:
    found = [f"{sign} {schema[word]}" for word, sign in BOUNDS.items() if word in schema]
    return f" ({', '.join(found)})" if found else ""


def fields(schema: Schema, links: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """The rows of a table of an object's fields: name, what it is, default, meaning."""
    required = schema.get("required", ())
    rows = []
    for name, field in schema.get("properties", {}).items():
        given = "required" if name in required else f"`{json.dumps(field.get('default'))}`"
        kind = described(field, links).replace("|", "\\|")
        given = given.replace("|", "\\|")
        rows.append(f"| `{name}` | {kind} | {given} | {cell(field.get('description', ''))} |")
    return ["| field | type | default | meaning |", "|---|---|---|---|", *rows] if rows else []
