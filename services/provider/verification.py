"""Face verification over HTTP: distances within pairs or to an enrolled person, and who is enrolled."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from numpy.typing import NDArray

from leakrange.metrics import pair_distances
from leakrange.wire.endpoints import GALLERY
from leakrange.wire.images import ImageLimits, image_steps
from leakrange.wire.names import asked_person, check_person
from leakrange.wire.pairs import MARK, image_marks, pair_steps, same_person
from leakrange.wire.schemas import Gallery, GalleryEntry, ModelCard, Scores
from leakrange.wire.tensors import negotiate
from services.provider.gallery_store import Template
from services.provider.hot_path import BareRoute, read_body, values_response
from services.provider.models import Models, ServedModel
from services.provider.openapi import ENROLMENT, VALUES, VERIFICATION
from services.provider.settings import ProviderSettings

__all__ = ["verification_routes"]

Marked = tuple[NDArray[np.uint8], list[bytes]]
"""Images or pairs, and the `image_marks` of all their images in order."""


def verification_routes(settings: ProviderSettings, models: Models) -> APIRouter:
    """The routes ``/v1/models/{model}/verification`` and ``.../gallery``."""
    router = APIRouter(prefix="/v1/models/{model}", tags=["native"])
    limits = ImageLimits(samples=settings.max_batch)

    async def verification(request: Request) -> Response:
        """Distances within pairs of images; with ``person``, of images to that person's template."""
        served, enrolled = models.verifier(request.path_params["model"], "verification")
        wanted = negotiate(request.headers.get("accept"))
        if (person := asked_person(request.scope["query_string"].decode("latin-1"))) is not None:
            template = enrolled[person]  # a stranger is refused before the images are read
            return await against(served, template, request, wanted)
        shape = served.card.input_shape
        pairs, marks = await read_body(request, partial(_read_pairs, shape=shape, limits=limits))
        vectors = await served.release("features", pairs.reshape(-1, *shape), marks)
        return _answer(served.card, pair_distances(vectors[::2], vectors[1::2], served.card.distance), wanted)

    async def against(served: ServedModel, template: Template, request: Request, wanted: str) -> Response:
        images, marks = await read_images(served, request, limits)
        vectors = await served.release("features", images, marks)
        templates = np.broadcast_to(template.vector, vectors.shape)
        distances = pair_distances(vectors, templates, served.card.distance)
        return _answer(served.card, distances, wanted, {MARK: template.mark.hex()})

    async def read_images(served: ServedModel, request: Request, within: ImageLimits) -> Marked:
        return await read_body(request, partial(_read_images, shape=served.card.input_shape, limits=within))

    async def enrol(request: Request) -> Response:
        """Enrol a person, or replace one, by the mean of the images' vectors."""
        served, enrolled = models.verifier(request.path_params["model"], GALLERY)
        person = check_person(request.path_params["person"])
        images, marks = await read_images(served, request, ImageLimits(samples=settings.gallery_images))
        template = await enrolled.enrol(person, await served.release("features", images, marks), marks)
        entry = GalleryEntry(person=person, images=template.images)
        return Response(entry.model_dump_json(), media_type="application/json")

    add = partial(router.add_api_route, route_class_override=BareRoute)
    add(
        "/verification",
        verification,
        methods=["POST"],
        response_model=Scores,
        openapi_extra=VERIFICATION,
        responses=VALUES,
    )
    add(
        f"/{GALLERY}/{{person}}", enrol, methods=["PUT"], response_model=GalleryEntry, openapi_extra=ENROLMENT
    )

    @router.get(f"/{GALLERY}")
    async def gallery(model: str) -> Gallery:
        """Who is enrolled with a verification model."""
        served, enrolled = models.verifier(model, GALLERY)
        persons = [GalleryEntry(person=each.person, images=each.images) for each in enrolled]
        return Gallery(model=served.card.name, version=served.card.version, persons=persons)

    @router.delete(f"/{GALLERY}/{{person}}", status_code=204)
    async def remove(model: str, person: str) -> Response:
        """Forget a person."""
        _, enrolled = models.verifier(model, GALLERY)
        await enrolled.remove(person)
        return Response(status_code=204)

    return router


def _read_pairs(content_type: str | None, body: bytes, **how: Any) -> Generator[None, None, Marked]:
    pairs = yield from pair_steps(content_type, body, **how)
    return pairs, image_marks(pairs.reshape(-1, *pairs.shape[2:]))


def _read_images(content_type: str | None, body: bytes, **how: Any) -> Generator[None, None, Marked]:
    images = yield from image_steps(content_type, body, **how)
    return images, image_marks(images)


def _answer(
    card: ModelCard, distances: NDArray[np.float32], wanted: str, headers: dict[str, str] | None = None
) -> Response:
    values, threshold = distances[:, np.newaxis], card.threshold
    same = {} if threshold is None else {"same": same_person(values, threshold)}
    return values_response(card, "score", values, wanted, headers, **same)
