"""The description of the data path for the OpenAPI document."""

from __future__ import annotations

from typing import Any

from leakrange.wire.openapi import AGAINST, BINARY, KIND, MODEL, PERSON, sample_body, upload_body
from leakrange.wire.tensors import NPY

IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
}
SAMPLES = {"parameters": [MODEL], "requestBody": sample_body()}
ENROLMENT = SAMPLES | {"parameters": [MODEL, PERSON]}
VERIFICATION = {"parameters": [MODEL, AGAINST], "requestBody": sample_body(pairs=True)}
OUTPUTS = {"parameters": [MODEL, KIND, IDEMPOTENCY], "requestBody": upload_body()}
VALUES: dict[int | str, dict[str, Any]] = {200: {"content": {NPY: BINARY}}}
FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/octet-stream": BINARY}},
    304: {"description": "The client has it already"},
}
