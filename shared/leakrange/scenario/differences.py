"""Differences between scenarios, field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["ABSENT", "differences"]

ABSENT = None
"""Stands where a scenario has no such field or party."""
WHOLE = 2
"""Deep enough for a party: one that is missing on a side is told as a whole."""


def differences(scenarios: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str | None]]]:
    """Return each field in which the scenarios differ, with its value in each of them in words, in the order
    of the first scenario. ``description`` and defaults that are the same everywhere are no difference.

    The scenarios are checked ones in their JSON form, every default filled in.
    """
    fields: list[tuple[str, list[str | None]]] = []
    _compare((), list(scenarios), fields)
    return fields


def _compare(
    path: tuple[str, ...], values: Sequence[Any], fields: list[tuple[str, list[str | None]]]
) -> None:
    if path == ("description",) or all(value == values[0] for value in values):
        return
    there = [value for value in values if value is not ABSENT]
    nested = all(isinstance(value, Mapping) for value in there)
    if nested and (len(there) == len(values) or len(path) < WHOLE):
        keys = dict.fromkeys(key for value in there for key in value)
        for key in keys:
            _compare(
                (*path, key), [value.get(key) if value is not ABSENT else ABSENT for value in values], fields
            )
        return
    fields.append((".".join(path), [_words(value) for value in values]))


def _words(value: Any) -> str | None:
    if value is ABSENT:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    if isinstance(value, Mapping):
        parts = [f"{key}: {_words(each)}" for key, each in value.items() if each is not ABSENT]
        return f"{{{', '.join(parts)}}}"
    return f"[{', '.join(str(_words(each)) for each in value)}]"
