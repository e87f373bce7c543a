"""The OpenAPI description of bodies that hold samples, for all parties that receive them."""

from __future__ import annotations

from typing import Any

from leakrange.wire.codecs import MEDIA
from leakrange.wire.multipart import MULTIPART
from leakrange.wire.tensors import JSON

__all__ = ["BINARY", "sample_body"]

BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
LIST = {"type": "array", "items": {"type": "array", "items": {}}}


def sample_body(*, pairs: bool = False) -> dict[str, Any]:
    """A body of samples; with ``pairs`` one of pairs, or of samples against an enrolled person."""
    inputs = LIST | {"description": "(B, *shape), with the shape that 'input' of the model's card names"}
    said: dict[str, Any] = {"required": ["inputs"], "properties": {"inputs": inputs}}
    files = {"files": {"type": "array", "items": BINARY["schema"]}}
    form: dict[str, Any] = {"type": "object", "properties": files}
    if pairs:
        two = {"type": "array", "minItems": 2, "maxItems": 2, "items": {}}
        asked = {"type": "array", "description": "(B, 2, *shape)", "items": two}
        said = {"minProperties": 1, "maxProperties": 1, "properties": {"pairs": asked, "inputs": inputs}}
        form |= {"description": "Two files a pair, in order; with a person, one file a sample"}
    json = {"type": "object", "additionalProperties": False, **said}
    known = {JSON: {"schema": json}, MULTIPART: {"schema": form}}
    return {"required": True, "content": {media: known.get(media, BINARY) for media in MEDIA}}
