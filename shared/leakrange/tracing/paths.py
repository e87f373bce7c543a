"""Paths as names of spans."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["pattern"]

_CHOSEN: Mapping[str, str] = {
    "models": "{model}",
    "routes": "{model}",
    "gallery": "{person}",
    "intake": "{upload}",
    "obfuscators": "{digest}",
    "runs": "{run}",
    "audits": "{audit}",
    "assessments": "{assessment}",
    "endpoint": "{assessment}",
    "keys": "{key}",
    "policies": "{policy}",
    "limits": "{limit}",
    "in": "{login}",
}
"""The placeholder of the name behind each of these parts of a path."""


def pattern(path: str) -> str:
    """Replace the names that users choose in a path: ``/v1/models/digits/logits`` becomes
    ``/v1/models/{model}/logits``."""
    parts = path.split("/")
    behind = zip(("", *parts), parts, strict=False)
    return "/".join(_CHOSEN.get(before, part) if part else part for before, part in behind)
