"""Face verification over HTTP: distances within pairs or to an enrolled person, and enrolment."""

from __future__ import annotations

from collections.abc import Generator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import pair_distances
from leakrange.service.exchange import CompleteAnswer, Request
from leakrange.services.provider.content import read_body, values_answer
from leakrange.services.provider.gallery_store import Template
from leakrange.services.provider.models import LoadedModels
from leakrange.services.provider.served import ServedModel
from leakrange.services.provider.settings import ProviderSettings
from leakrange.wire.codecs import sample_steps
from leakrange.wire.endpoints import GALLERY
from leakrange.wire.names import asked_person, check_person
from leakrange.wire.pairs import MARK, pair_steps, same_person, sample_marks
from leakrange.wire.schemas import GalleryEntry, ModelCard
from leakrange.wire.tensors import JSON, negotiate

__all__ = ["FaceVerification"]

Marked = tuple[NDArray[Any], list[bytes]]
"""Samples or pairs, and the `sample_marks` of all of them in order."""


class FaceVerification:
    """Answers comparisons and enrolments on the data path."""

    def __init__(self, settings: ProviderSettings, models: LoadedModels) -> None:
        self._settings, self._models = settings, models

    async def compare(self, request: Request, model: str, endpoint: str) -> CompleteAnswer:
        """Distances within pairs of samples; with ``person``, from samples to that person's template."""
        served, enrolled = self._models.verifier(model, endpoint)
        accepted, most = negotiate(request.headers.get(b"accept")), self._settings.max_batch
        if (person := asked_person(request.query)) is not None:
            template = enrolled[person]  # a stranger is refused before the samples are read
            return await self._against(template, served, request, accepted)
        spec = served.card.input
        reading = partial(_read_pairs, spec=spec, most=most)
        pairs, marks = await read_body(request, self._settings.max_body, reading, spec)
        vectors = await served.release("features", pairs.reshape(-1, *spec.shape), marks)
        return _answer(
            served.card, pair_distances(vectors[::2], vectors[1::2], served.card.distance), accepted
        )

    async def enrol(self, request: Request, model: str, person: str) -> CompleteAnswer:
        """Enrol a person, or replace one, by the mean of the samples' vectors."""
        served, enrolled = self._models.verifier(model, GALLERY)
        check_person(person)
        samples, marks = await self._samples(served, request, self._settings.gallery_images)
        template = await enrolled.enrol(person, await served.release("features", samples, marks), marks)
        entry = GalleryEntry(person=person, images=template.images)
        return CompleteAnswer(200, entry.model_dump_json().encode(), {"Content-Type": JSON})

    async def _against(
        self, template: Template, served: ServedModel, request: Request, accepted: str
    ) -> CompleteAnswer:
        samples, marks = await self._samples(served, request, self._settings.max_batch)
        vectors = await served.release("features", samples, marks)
        enrolled = np.broadcast_to(template.vector, vectors.shape)
        distances = pair_distances(vectors, enrolled, served.card.distance)
        return _answer(served.card, distances, accepted, {MARK: template.mark.hex()})

    async def _samples(self, served: ServedModel, request: Request, most: int) -> Marked:
        spec = served.card.input
        reading = partial(_read_samples, spec=spec, most=most)
        return await read_body(request, self._settings.max_body, reading, spec)


def _read_pairs(content_type: str | None, body: bytes, **limits: Any) -> Generator[None, None, Marked]:
    pairs = yield from pair_steps(content_type, body, **limits)
    return pairs, sample_marks(pairs.reshape(-1, *pairs.shape[2:]))


def _read_samples(content_type: str | None, body: bytes, **limits: Any) -> Generator[None, None, Marked]:
    samples = yield from sample_steps(content_type, body, **limits)
    return samples, sample_marks(samples)


def _answer(
    card: ModelCard, distances: NDArray[np.float32], accepted: str, headers: dict[str, str] | None = None
) -> CompleteAnswer:
    values, threshold = distances[:, np.newaxis], card.threshold
    same = {} if threshold is None else {"same": same_person(values, threshold)}
    return values_answer(card, "score", values, accepted, headers, **same)
