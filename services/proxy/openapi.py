"""The data path in the OpenAPI document: raw ASGI does not describe itself."""

from __future__ import annotations

from functools import partial
from typing import Any

from fastapi import APIRouter, Depends, Response
from fastapi.security import HTTPBearer

from leakrange.wire.endpoints import ARTIFACT, GALLERY, OBFUSCATORS, RELEASES, UPLOADS
from leakrange.wire.openapi import AGAINST, BINARY, KIND, MODEL, PERSON, sample_body, upload_body
from leakrange.wire.schemas import Decisions, Gallery, GalleryEntry, ModelCard, Releases, Scores
from leakrange.wire.tensors import NPY

IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A repeat of the same request under the same key gets the first answer and costs nothing",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}
DIGEST = {
    "name": "digest",
    "in": "path",
    "required": True,
    "description": "Of the recipe that it was trained by",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}
KEY = Depends(HTTPBearer(scheme_name="key", auto_error=False))
"""Declares that an operation wants a key; the data path and the admin API check it themselves."""
ARRAYS = {200: {"content": {NPY: BINARY}}}
FILE = {"responses": {200: {"content": {"application/octet-stream": BINARY}}}, "response_class": Response}


def described() -> APIRouter:
    """The native API as routes that are never reached, since the data path answers first."""
    every = APIRouter(prefix="/v1", tags=["native API"], dependencies=[KEY])
    router = APIRouter(prefix="/models")
    about = "The safetensors file of an obfuscator that the key may have"
    _add(every, "GET", f"/{OBFUSCATORS}/{{digest}}", about, None, DIGEST, **FILE)
    add = partial(_add, router)
    add("GET", "", "The models that this key may use", dict[str, list[ModelCard]])
    add("GET", "/{model}", "One model", ModelCard, MODEL)
    add("GET", f"/{{model}}/{ARTIFACT}", "The model's safetensors file", None, MODEL, **FILE)
    add(
        "POST",
        f"/{{model}}/{UPLOADS}",
        "Upload releases; the reply is the decision",
        Decisions,
        MODEL,
        IDEMPOTENCY,
        KIND,
        body=upload_body(),
    )
    for endpoint, kind in RELEASES.items():
        scored = kind == "score"
        add(
            "POST",
            f"/{{model}}/{endpoint}",
            f"The model's {endpoint} of a batch of {'pairs' if scored else 'samples'}, "
            "as the policy releases them",
            Scores if scored else Releases,
            *([MODEL, IDEMPOTENCY, AGAINST] if scored else [MODEL, IDEMPOTENCY]),
            body=sample_body(pairs=scored),
            responses=ARRAYS,
        )
    people = f"/{{model}}/{GALLERY}"
    add("GET", people, "Who is enrolled", Gallery, MODEL)
    add(
        "PUT",
        f"{people}/{{person}}",
        "Enrol a person, or replace one, by samples of theirs",
        GalleryEntry,
        MODEL,
        PERSON,
        IDEMPOTENCY,
        body=sample_body(),
    )
    add("DELETE", f"{people}/{{person}}", "Forget an enrolled person", None, MODEL, PERSON, status_code=204)
    every.include_router(router)
    return every


def _add(
    router: APIRouter,
    method: str,
    path: str,
    summary: str,
    answer: Any,
    *parameters: Any,
    body: Any = None,
    **more: Any,
) -> None:
    extra = {"parameters": list(parameters)} | ({"requestBody": body} if body is not None else {})
    router.add_api_route(
        path,
        _answered_by_the_data_path,
        methods=[method],
        summary=summary,
        response_model=answer,
        openapi_extra=extra,
        **more,
    )


async def _answered_by_the_data_path() -> None:
    raise NotImplementedError
