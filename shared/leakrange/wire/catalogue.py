"""The entries that scenarios can name, and the models of a range (``/v1/data``, ``/v1/attacks``,
``/v1/models``)."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from leakrange.wire.samples import SampleSpec

__all__ = ["DataEntry", "Entry", "ModelEntry"]


class DataEntry(BaseModel):
    """A registered data set; ``unavailable`` says why it cannot be loaded on this machine, None where it
    can.
    """

    name: str
    description: str
    sample: SampleSpec
    attributes: dict[str, list[str]]
    source: str
    unavailable: str | None


class Entry(BaseModel):
    """A registered attack, behaviour or defence, with the JSON schema of its parameters."""

    name: str
    summary: str
    paper: str = ""
    equation: str = ""
    parameters: dict[str, Any]


class ModelEntry(BaseModel):
    """A trained model in the artifact store; ``created`` is ISO 8601 in UTC."""

    digest: str
    data: str
    behaviour: str
    seed: int
    recipe: dict[str, Any]
    figures: dict[str, Any]
    created: str
