"""The base of what is read from others and never changes."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

__all__ = ["Strict", "example"]


class Strict(BaseModel):
    """A model that refuses unknown fields, and whose values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def example(body: dict[str, Any] | None) -> ConfigDict:
    """The configuration of a model whose JSON schema shows this ``body``, which a client may send as it is.

    None is for a model that extends another, and does not show what that one shows.
    """
    return ConfigDict(json_schema_extra=None if body is None else {"examples": [body]})
