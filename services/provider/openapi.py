"""What the bare routes of the native API say of themselves in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from leakrange.wire.schemas import Upload
from leakrange.wire.tensors import JSON, NPY

__all__ = ["ARTIFACT", "IMAGES", "OUTPUTS", "RELEASES"]

BINARY = {"schema": {"type": "string", "format": "binary"}}
MODEL = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
PIXELS = {
    "description": "(B, H, W, C) or one (H, W, C): integers 0..255 or floats in [0, 1]",
    "type": "array",
    "items": {"type": "array", "items": {"type": "array", "items": {}}},
}
IMAGES = {
    "parameters": [MODEL],
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                "schema": {
                    "type": "object",
                    "required": ["inputs"],
                    "properties": {"inputs": PIXELS},
                    "additionalProperties": False,
                }
            },
            NPY: BINARY,
            "image/png": BINARY,
            "image/jpeg": BINARY,
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"files": {"type": "array", "items": BINARY["schema"]}},
                }
            },
        },
    },
}
OUTPUTS = {
    "parameters": [
        MODEL,
        {"name": "X-Release", "in": "header", "required": False, "schema": {"enum": ["logits", "softmax"]}},
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
RELEASES: dict[int | str, dict[str, Any]] = {200: {"content": {NPY: BINARY}}}
ARTIFACT: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": BINARY}},
    304: {"description": "The client has it already"},
}
