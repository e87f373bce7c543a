"""The native API for users and edge clients: what the framework answers, and a description of the rest."""

from __future__ import annotations

import base64
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from leakrange.services.provider.models import LoadedModels
from leakrange.services.provider.openapi import ENROLMENT, FILE, OUTPUTS, SAMPLES, VALUES, VERIFICATION
from leakrange.wire.endpoints import ARTIFACT, GALLERY, RELEASES, UPLOADS
from leakrange.wire.schemas import Decisions, Gallery, GalleryEntry, ModelCard, Releases, Scores


def native_routes(models: LoadedModels) -> APIRouter:
    """The routes below ``/v1/models``."""
    router = APIRouter(prefix="/v1/models", tags=["native"])

    @router.get("")
    async def list_models() -> dict[str, list[ModelCard]]:
        """The cards of all models."""
        return {"models": [served.card for served in models]}

    @router.get("/{model}")
    async def card(model: str) -> ModelCard:
        """What there is to know of a model before it is used."""
        return models[model].card

    @router.get(f"/{{model}}/{ARTIFACT}", response_class=Response, responses=FILE)
    async def artifact(model: str, request: Request) -> Response:
        """The model itself, a safetensors file with its config; compare its SHA-256 with the card's."""
        served = models.answering(model, ARTIFACT)
        headers = {
            "ETag": f'"{served.card.sha256}"',
            "Repr-Digest": f"sha-256=:{base64.b64encode(bytes.fromhex(served.card.sha256)).decode()}:",
        }
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(served.public, headers=headers, media_type="application/octet-stream")

    @router.get(f"/{{model}}/{GALLERY}")
    async def gallery(model: str) -> Gallery:
        """The persons enrolled with a verification model."""
        served, enrolled = models.verifier(model, GALLERY)
        persons = [GalleryEntry(person=template.person, images=template.images) for template in enrolled]
        return Gallery(model=served.card.name, version=served.card.version, persons=persons)

    @router.delete(f"/{{model}}/{GALLERY}/{{person}}", status_code=204)
    async def remove(model: str, person: str) -> Response:
        """Forget a person."""
        _, enrolled = models.verifier(model, GALLERY)
        await enrolled.remove(person)
        return Response(status_code=204)

    return router


def documented_routes() -> APIRouter:
    """The routes that `DataPath` answers before the framework: for the OpenAPI document."""
    router = APIRouter(prefix="/v1/models/{model}", tags=["native"])

    async def answered_before() -> None:
        raise NotImplementedError("`DataPath` answers before the framework")

    def add(
        path: str, about: str, method: str, model: type[BaseModel], body: Any, responses: Any = None
    ) -> None:
        router.add_api_route(
            f"/{path}",
            answered_before,
            methods=[method],
            name="enrol" if method == "PUT" else path,
            description=about,
            response_model=model,
            openapi_extra=body,
            responses=responses,
        )

    for endpoint, kind in RELEASES.items():
        if kind != "score":
            add(endpoint, f"The {endpoint} of one or more samples.", "POST", Releases, SAMPLES, VALUES)
    pairs = "Distances within pairs of samples; with ``person``, from samples to that person's template."
    add("verification", pairs, "POST", Scores, VERIFICATION, VALUES)
    mean = "Enrol a person, or replace one, by the mean of the samples' vectors."
    add(f"{GALLERY}/{{person}}", mean, "PUT", GalleryEntry, ENROLMENT)
    taken = "Take in the outputs that an edge client computed itself, and decide on them."
    add(UPLOADS, taken, "POST", Decisions, OUTPUTS)
    return router
