"""One-line descriptions of a model's fields, taken from the docstrings of its classes."""

from __future__ import annotations

import inspect
import re
from typing import Any

from pydantic import BaseModel

__all__ = ["described", "told_in"]

MOST = 200
"""Characters of a description."""
NEAR = 48
"""A part that names the field later than that is about another one."""


def described(schema: dict[str, Any], model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of ``model``, with a description for each property that a docstring of the model, or of
    one of its bases, names."""
    texts = [text for each in model.__mro__ if (text := _docstring(each))]
    return told_in(schema, *texts)


def told_in(schema: dict[str, Any], *texts: str) -> dict[str, Any]:
    """The schema of an object, each property described by the first of ``texts`` that names it."""
    fields = {}
    for name, field in schema.get("properties", {}).items():
        description = next((description for text in texts if (description := _clause(text, name))), None)
        fields[name] = {"description": description, **field} if description else field
    return {**schema, "properties": fields} if fields else schema


def _docstring(kind: type) -> str:
    if kind is BaseModel or not issubclass(kind, BaseModel):
        return ""
    return inspect.cleandoc(kind.__dict__.get("__doc__") or "")


def _clause(text: str, name: str) -> str | None:
    """Return the part of a sentence that describes the field: it has its name in backticks at or near its
    beginning."""
    flat, named = " ".join(text.split()), f"``{name}``"
    parts = re.split(r"(?<=;)\s+|(?<=[.])(?<!e\.g\.)\s+(?=[A-Z`])", flat)
    first = min((part for part in parts if named in part), key=lambda part: part.index(named), default="")
    if not first or first.index(named) > NEAR:
        return None
    clause = first.removeprefix(f"{named}: ").replace("``", "").replace("`", "").rstrip(" ;.")
    return clause if len(clause) <= MOST else clause[: MOST - 1].rsplit(" ", 1)[0] + "…"
