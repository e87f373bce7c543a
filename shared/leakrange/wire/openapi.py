"""The OpenAPI description of bodies that hold samples, and of parameters, for all parties that take them."""

from __future__ import annotations

from typing import Any

from leakrange.wire.codecs import all_media
from leakrange.wire.endpoints import UPLOADED
from leakrange.wire.multipart import MULTIPART
from leakrange.wire.names import NAME
from leakrange.wire.schemas import Upload
from leakrange.wire.tensors import JSON, NPY

__all__ = ["AGAINST", "BINARY", "INFER", "KIND", "MODEL", "PERSON", "sample_body", "upload_body"]

BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
MODEL = {
    "name": "model",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{NAME}$"},
}
PERSON = MODEL | {"name": "person"}
AGAINST = PERSON | {
    "in": "query",
    "required": False,
    "description": "Compare with this enrolled person; then the body holds samples, not pairs",
}
KIND = {
    "name": "X-Release",
    "in": "header",
    "required": False,
    "description": "The release kind of an npy body",
    "schema": {"enum": list(UPLOADED)},
}
_NAMED = {"type": "object", "required": ["name"], "additionalProperties": False}
_TENSOR = {
    "name": {"type": "string"},
    "shape": {"type": "array", "items": {"type": "integer"}},
    "datatype": {"type": "string"},
    "data": {"type": "array", "items": {}},
    "parameters": {"type": "object", "properties": {"binary_data_size": {"type": "integer"}}},
}
_ASKED = {
    "name": {"type": "string"},
    "parameters": {"type": "object", "properties": {"binary_data": {"type": "boolean"}}},
}
INFER: dict[str, Any] = {
    "required": True,
    "content": {
        JSON: {
            "schema": {
                "type": "object",
                "examples": [
                    {"inputs": [{"name": "input", "shape": [1, 2], "datatype": "FP32", "data": [41.0, 8.0]}]}
                ],
                "required": ["inputs"],
                "additionalProperties": False,
                "properties": {
                    "id": {"type": "string", "maxLength": 200},
                    "inputs": {"type": "array", "maxItems": 1, "items": _NAMED | {"properties": _TENSOR}},
                    "outputs": {"type": "array", "maxItems": 1, "items": _NAMED | {"properties": _ASKED}},
                    "parameters": {
                        "type": "object",
                        "properties": {"binary_data_output": {"type": "boolean"}},
                    },
                },
            }
        },
    },
}
"""A request of the Open Inference Protocol."""
LIST = {"type": "array", "items": {"type": "array", "items": {}}}


def sample_body(*, pairs: bool = False) -> dict[str, Any]:
    """A body of samples; with ``pairs`` one of pairs, or of samples against an enrolled person."""
    packed = {"type": "string", "contentEncoding": "base64", "description": "The same as an npy file"}
    listed = LIST | {"description": "(B, *shape), with the shape that 'input' of the model's card names"}
    inputs = {"anyOf": [listed, packed]}
    members: dict[str, Any] = {"required": ["inputs"], "properties": {"inputs": inputs}}
    files = {"files": {"type": "array", "items": BINARY["schema"]}}
    form: dict[str, Any] = {"type": "object", "properties": files}
    example: dict[str, Any] = {"inputs": [[41.0, 8.0], [29.0, 6.5]]}
    if pairs:
        two = {"type": "array", "minItems": 2, "maxItems": 2, "items": {}}
        asked = {"type": "array", "description": "(B, 2, *shape)", "items": two}
        members = {"minProperties": 1, "maxProperties": 1, "properties": {"pairs": asked, "inputs": inputs}}
        example = {"pairs": [[[0.1, 0.7], [0.2, 0.6]]]}
        form |= {"description": "Two files a pair, in order; with a person, one file a sample"}
    json = {"type": "object", "additionalProperties": False, "examples": [example], **members}
    known = {JSON: {"schema": json}, MULTIPART: {"schema": form}}
    return {"required": True, "content": {media: known.get(media, BINARY) for media in all_media()}}


def upload_body() -> dict[str, Any]:
    """A body of releases that an edge client uploads."""
    return {"required": True, "content": {JSON: {"schema": Upload.model_json_schema()}, NPY: BINARY}}
