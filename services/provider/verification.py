"""Face verification over HTTP: distances within pairs or to an enrolled person, and the list of the
enrolled."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

import numpy as np
from fastapi import APIRouter, Request, Response
from numpy.typing import NDArray

from leakrange.metrics import pair_distances
from leakrange.services.provider.gallery_store import Template
from leakrange.services.provider.hot_path import BareRoute, read_body, values_response
from leakrange.services.provider.models import LoadedModels, ServedModel
from leakrange.services.provider.openapi import ENROLMENT, VALUES, VERIFICATION
from leakrange.services.provider.settings import ProviderSettings
from leakrange.wire.codecs import sample_steps
from leakrange.wire.endpoints import GALLERY
from leakrange.wire.names import asked_person, check_person
from leakrange.wire.pairs import MARK, pair_steps, same_person, sample_marks
from leakrange.wire.schemas import Gallery, GalleryEntry, ModelCard, Scores
from leakrange.wire.tensors import negotiate

Marked = tuple[NDArray[Any], list[bytes]]
"""Samples or pairs, and the `sample_marks` of all of them in order."""


def verification_routes(settings: ProviderSettings, models: LoadedModels) -> APIRouter:
    """The routes ``/v1/models/{model}/verification`` and ``.../gallery``."""
    router = APIRouter(prefix="/v1/models/{model}", tags=["native"])

    async def verification(request: Request) -> Response:
        """Distances within pairs of samples; with ``person``, from samples to that person's template."""
        served, enrolled = models.verifier(request.path_params["model"], "verification")
        accepted = negotiate(request.headers.get("accept"))
        if (person := asked_person(request.scope["query_string"].decode("latin-1"))) is not None:
            template = enrolled[person]  # a stranger is refused before the samples are read
            return await _against(template, served, request, accepted, settings.max_batch)
        spec = served.card.input
        read = partial(_read_pairs, spec=spec, most=settings.max_batch)
        pairs, marks = await read_body(request, read)
        vectors = await served.release("features", pairs.reshape(-1, *spec.shape), marks)
        return _answer(
            served.card, pair_distances(vectors[::2], vectors[1::2], served.card.distance), accepted
        )

    async def enrol(request: Request) -> Response:
        """Enrol a person, or replace one, by the mean of the samples' vectors."""
        served, enrolled = models.verifier(request.path_params["model"], GALLERY)
        person = check_person(request.path_params["person"])
        samples, marks = await _samples(served, request, settings.gallery_images)
        template = await enrolled.enrol(person, await served.release("features", samples, marks), marks)
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
        """The persons enrolled with a verification model."""
        served, enrolled = models.verifier(model, GALLERY)
        persons = [GalleryEntry(person=template.person, images=template.images) for template in enrolled]
        return Gallery(model=served.card.name, version=served.card.version, persons=persons)

    @router.delete(f"/{GALLERY}/{{person}}", status_code=204)
    async def remove(model: str, person: str) -> Response:
        """Forget a person."""
        _, enrolled = models.verifier(model, GALLERY)
        await enrolled.remove(person)
        return Response(status_code=204)

    return router


async def _against(
    template: Template, served: ServedModel, request: Request, accepted: str, most: int
) -> Response:
    samples, marks = await _samples(served, request, most)
    vectors = await served.release("features", samples, marks)
    distances = pair_distances(vectors, np.broadcast_to(template.vector, vectors.shape), served.card.distance)
    return _answer(served.card, distances, accepted, {MARK: template.mark.hex()})


async def _samples(served: ServedModel, request: Request, most: int) -> Marked:
    return await read_body(request, partial(_read_samples, spec=served.card.input, most=most))


def _read_pairs(content_type: str | None, body: bytes, **limits: Any) -> Generator[None, None, Marked]:
    pairs = yield from pair_steps(content_type, body, **limits)
    return pairs, sample_marks(pairs.reshape(-1, *pairs.shape[2:]))


def _read_samples(content_type: str | None, body: bytes, **limits: Any) -> Generator[None, None, Marked]:
    samples = yield from sample_steps(content_type, body, **limits)
    return samples, sample_marks(samples)


def _answer(
    card: ModelCard, distances: NDArray[np.float32], accepted: str, headers: dict[str, str] | None = None
) -> Response:
    values, threshold = distances[:, np.newaxis], card.threshold
    same = {} if threshold is None else {"same": same_person(values, threshold)}
    return values_response(card, "score", values, accepted, headers, **same)
