"""What the bare routes of the native API say of themselves in the OpenAPI document."""

from __future__ import annotations

from typing import Any

from leakrange.wire.endpoints import UPLOADED
from leakrange.wire.names import NAME
from leakrange.wire.openapi import BINARY, sample_body
from leakrange.wire.schemas import Upload
from leakrange.wire.tensors import JSON, NPY

__all__ = ["ENROLMENT", "FILE", "OUTPUTS", "SAMPLES", "VALUES", "VERIFICATION"]

PERSON = {
    "name": "person",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{NAME}$"},
}
MODEL = {"name": "model", "in": "path", "required": True, "schema": {"type": "string"}}
SAMPLES = {"parameters": [MODEL], "requestBody": sample_body()}
ENROLMENT = SAMPLES | {"parameters": [MODEL, PERSON]}
VERIFICATION = {
    "parameters": [
        MODEL,
        PERSON
        | {
            "in": "query",
            "required": False,
            "description": "Compare with this enrolled person; then the body holds samples, not pairs",
        },
    ],
    "requestBody": sample_body(pairs=True),
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
