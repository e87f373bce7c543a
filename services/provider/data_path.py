"""The data path, in raw ASGI: samples in, releases out; uploads of edge clients; face verification."""

from __future__ import annotations

import re
from collections.abc import Awaitable
from functools import partial

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from leakrange import tracing
from leakrange.service.app import RequestMetrics
from leakrange.service.exchange import CompleteAnswer, Request
from leakrange.service.hot_path import Ending, HotPath, PiecewiseAnswer
from leakrange.service.open_inference import OpenInference
from leakrange.services.provider.content import read_body, values_answer
from leakrange.services.provider.intake import Intake
from leakrange.services.provider.models import LoadedModels
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.provider.verification import FaceVerification
from leakrange.wire.codecs import sample_steps
from leakrange.wire.endpoints import GALLERY, RELEASES, UPLOADED, UPLOADS, check_upload
from leakrange.wire.errors import InvalidInput, LeakrangeError
from leakrange.wire.open_inference import HEAD_LENGTH, infer_answer, read_infer
from leakrange.wire.releases import ReleaseKind, upload_steps
from leakrange.wire.schemas import ModelCard
from leakrange.wire.tensors import JSON, negotiate
from leakrange.wire.turns import apart

KEY = re.compile(r"[!-~]{1,255}")


class InferencePath(HotPath):
    """Answers ``POST /v1/models/{model}/{endpoint}``, enrolments, and all under ``/v2``; everything else goes
    to ``app``, where the native routes exist as well, for its document alone."""

    def __init__(
        self,
        app: FastAPI,
        settings: ProviderSettings,
        models: LoadedModels,
        intake: Intake,
        metrics: RequestMetrics,
    ) -> None:
        super().__init__(app)
        self._settings, self._models, self._intake, self._metrics = settings, models, intake, metrics
        self._verification = FaceVerification(settings, models)
        self._open_inference = PlainInference(settings, models)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] == "http" and self._models.stale and scope["path"].startswith(("/v1/", "/v2/")):
            try:
                await self._models.follow()  # another process has changed what is served
            except LeakrangeError as error:
                request = Request(scope, receive)
                return await self._problem(error, request).send(request.answering(send))
        await super().__call__(scope, receive, send)

    def takes(self, scope: Scope) -> bool:
        """See `HotPath.takes`."""
        parts = scope["path"].split("/")
        if parts[1] == "v2":
            return True
        if parts[1:3] != ["v1", "models"] or not all(parts[3:]):
            return False
        if len(parts) == 5:
            return scope["method"] == "POST" and (parts[4] in RELEASES or parts[4] == UPLOADS)
        return scope["method"] == "PUT" and len(parts) == 6 and parts[4] == GALLERY

    def handler(self, request: Request, _: PiecewiseAnswer) -> tuple[str, Awaitable[CompleteAnswer]]:
        """See `HotPath.handler`."""
        if request.path.startswith("/v2"):
            return self._open_inference.handler(request)
        model, endpoint, *person = request.path.split("/")[3:]
        if person:
            return f"{GALLERY}/{{person}}", self._verification.enrol(request, model, person[0])
        if endpoint == UPLOADS:
            return endpoint, self._take_in(request, model)
        if RELEASES[endpoint] == "score":
            return endpoint, self._verification.compare(request, model, endpoint)
        return endpoint, self._release(request, model, endpoint)

    def ended(self, ending: Ending) -> None:
        """See `HotPath.ended`."""
        request, route = ending.request, f"/v1/models/{{model}}/{ending.endpoint}"
        if request.path.startswith("/v2"):
            route = f"/{ending.endpoint}"
        self._metrics.answered(request.method, route, request.path, ending.status, ending.began)

    async def _release(self, request: Request, model: str, endpoint: str) -> CompleteAnswer:
        served, kind = self._models.answering(model, endpoint), RELEASES[endpoint]
        accepted = negotiate(request.headers.get(b"accept"))
        spec, most = served.card.input, self._settings.max_batch
        reading = partial(sample_steps, spec=spec, most=most)
        samples = await read_body(request, self._settings.max_body, reading, spec)
        with tracing.span("inference", model=model, samples=len(samples)):
            values = await served.release(kind, samples)
        return values_answer(served.card, kind, values, accepted)

    async def _take_in(self, request: Request, model: str) -> CompleteAnswer:
        """Take in the outputs that an edge client computed itself, and decide on them."""
        served, headers = self._models.answering(model, UPLOADS), request.headers
        key = headers.get(b"idempotency-key")
        if key is not None and not KEY.fullmatch(key):
            raise InvalidInput("an idempotency key is 1 to 255 printable ASCII characters without blanks")
        named, most = headers.get(b"x-release"), self._settings.max_upload
        kind, array = await read_body(
            request,
            self._settings.max_body,
            lambda media, body: upload_steps(media, named, body, max_samples=most),
        )
        release = _release_kind(kind)
        check_upload(served.card, release, array)
        decisions = await self._intake.take_in(served, release, array, key)
        return CompleteAnswer(200, decisions.model_dump_json().encode(), {"Content-Type": JSON})


class PlainInference(OpenInference):
    """The Open Inference Protocol before the models of this provider."""

    def __init__(self, settings: ProviderSettings, models: LoadedModels) -> None:
        self._settings, self._models = settings, models

    async def ready(self) -> None:
        """See `OpenInference.ready`: a provider that answers is ready."""

    async def card(self, _request: Request, model: str) -> ModelCard:
        """See `OpenInference.card`."""
        return self._models[model].card

    async def infer(self, request: Request, card: ModelCard, endpoint: str) -> CompleteAnswer:
        """See `OpenInference.infer`."""
        served = self._models.answering(card.name, endpoint)
        body = await request.body(limit=self._settings.max_body)
        length = request.headers.get(HEAD_LENGTH.lower().encode())
        reading = partial(read_infer, body, length, card.input, endpoint, self._settings.max_batch)
        asked = await apart(reading, len(body))
        values = await served.release(RELEASES[endpoint], asked.samples)
        return CompleteAnswer(200, *infer_answer(card, endpoint, values, asked))


def _release_kind(kind: str | None) -> ReleaseKind:
    for release in UPLOADED:
        if kind == release:
            return release
    if kind is None:
        raise InvalidInput("an npy upload wants the header X-Release", hint="send 'X-Release: logits'")
    raise InvalidInput(f"an upload is {' or '.join(UPLOADED)}, not {kind[:64]!r}")
