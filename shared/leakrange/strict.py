"""The base of what is read from others and never changes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Strict"]


class Strict(BaseModel):
    """A model that refuses unknown fields, and whose values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)
