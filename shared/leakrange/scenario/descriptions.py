"""What the fields of a model are for, in one line each: taken from the docstrings of its classes."""

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
    """The JSON schema of ``model``, each of its properties with a description where a docstring of the model,
    or of a class that it comes from, speaks of it."""
    texts = [text for each in model.__mro__ if (text := _own(each))]
    return told_in(schema, *texts)


def told_in(schema: dict[str, Any], *texts: str) -> dict[str, Any]:
    """The schema of an object, each of its properties with what the first of ``texts`` says that names it."""
    fields = {}
    for name, field in schema.get("properties", {}).items():
        said = next((said for text in texts if (said := _clause(text, name))), None)
        fields[name] = {"description": said, **field} if said else field
    return {**schema, "properties": fields} if fields else schema


def _own(kind: type) -> str:
    if kind is BaseModel or not issubclass(kind, BaseModel):
        return ""
    return inspect.cleandoc(kind.__dict__.get("__doc__") or "")


def _clause(text: str, name: str) -> str | None:
    """The part of a sentence that is about the field, as it begins with its name in backticks, or nearly."""
    flat, named = " ".join(text.split()), f"``{name}``"
    parts = re.split(r"(?<=;)\s+|(?<=[.])(?<!e\.g\.)\s+(?=[A-Z`])", flat)
    first = min((part for part in parts if named in part), key=lambda part: part.index(named), default="")
    if not first or first.index(named) > NEAR:
        return None
    said = first.removeprefix(f"{named}: ").replace("``", "").replace("`", "").rstrip(" ;.")
    return said if len(said) <= MOST else said[: MOST - 1].rsplit(" ", 1)[0] + "…"
