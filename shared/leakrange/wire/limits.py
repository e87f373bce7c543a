"""Limits of keys beside their budgets: bodies of the proxy's ``/admin/limits``."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from leakrange.wire.schemas import Name

__all__ = ["LimitBody", "LimitKind", "LimitList", "LimitUse", "NamedLimit"]


class LimitBody(BaseModel):
    """A limit: its kind and that kind's parameters, e.g. ``{"kind": "window", "samples": 100, "seconds":
    60}``."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)

    kind: str


class NamedLimit(LimitBody):
    """A limit by its name."""

    name: Name


class LimitUse(NamedLimit):
    """A limit, and what is counted under it."""

    used: dict[str, int]
    """Samples, or units where these are weighted, by what they are counted for: a key, a key and a model, or
    all. A window's are as of the last request."""


class LimitKind(BaseModel):
    """A kind of limit; ``parameters`` is the JSON schema of each."""

    kind: str
    summary: str
    parameters: dict[str, Any]
    required: list[str]


class LimitList(BaseModel):
    """All limits, and the kinds that there are."""

    limits: list[NamedLimit]
    kinds: list[LimitKind]
