"""What the bare routes of the native API say of themselves in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from leakrange.wire.endpoints import UPLOADED
from leakrange.wire.names import NAME
from leakrange.wire.schemas import Upload
from leakrange.wire.tensors import JSON, NPY

__all__ = ["ENROLMENT", "FILE", "IMAGES", "OUTPUTS", "VALUES", "VERIFICATION"]

BINARY = {"schema": {"type": "string", "format": "binary"}}
PERSON = {
    "name": "person",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{NAME}$"},
}
MODEL = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
PIXELS = {
    "description": "(B, H, W, C) or one (H, W, C): integers 0..255 or floats in [0, 1]",
    "type": "array",
    "items": {"type": "array", "items": {"type": "array", "items": {}}},
}


def _images(json: dict[str, Any], files: str | None = None) -> dict[str, Any]:
    """A body of images: ``json`` says how as JSON, ``files`` which they are where that matters."""
    form = {"type": "object", "properties": {"files": {"type": "array", "items": BINARY["schema"]}}}
    return {
        "required": True,
        "content": {
            JSON: {"schema": {"type": "object", **json, "additionalProperties": False}},
            NPY: BINARY,
            "image/png": BINARY,
            "image/jpeg": BINARY,
            "multipart/form-data": {"schema": form if files is None else {"description": files, **form}},
        },
    }


IMAGES = {
    "parameters": [MODEL],
    "requestBody": _images({"required": ["inputs"], "properties": {"inputs": PIXELS}}),
}
ENROLMENT = IMAGES | {"parameters": [MODEL, PERSON]}
VERIFICATION = {
    "parameters": [
        MODEL,
        PERSON
        | {
            "in": "query",
            "required": False,
            "description": "Compare images with this enrolled person; then the body holds images, not pairs",
        },
    ],
    "requestBody": _images(
        {
            "minProperties": 1,
            "maxProperties": 1,
            "properties": {
                "pairs": {
                    "description": "(B, 2, H, W, C): integers 0..255 or floats in [0, 1]",
                    "type": "array",
                    "items": {"type": "array", "minItems": 2, "maxItems": 2, "items": {}},
                },
                "inputs": PIXELS,
            },
        },
        files="Two files a pair, in order; with a person, one file an image",
    ),
}
OUTPUTS = {
    "parameters": [
        MODEL,
        {"name": "X-Release", "in": "header", "required": False, "schema": {"enum": list(UPLOADED)}},
        {
            "name": "Idempotency-Key",
            "in": "header",
            "required": False,
            "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
        },
    ],
    "requestBody": {
        "required": True,
        "content": {JSON: {"schema": Upload.model_json_schema()}, NPY: BINARY},
    },
}
VALUES: dict[int | str, dict[str, Any]] = {200: {"content": {NPY: BINARY}}}
FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": BINARY}},
    304: {"description": "The client has it already"},
}
