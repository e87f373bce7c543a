"""The native API for users and edge clients. `inference` answers its requests before the framework; intake is
a bare route (`hot_path`)."""

from __future__ import annotations

import base64
import re

from fastapi import APIRouter, Request, Response

from leakrange.services.provider.hot_path import BareRoute, Handler, read_body
from leakrange.services.provider.inference import ANSWERED
from leakrange.services.provider.intake import Intake
from leakrange.services.provider.models import LoadedModels
from leakrange.services.provider.openapi import FILE, OUTPUTS, SAMPLES, VALUES
from leakrange.services.provider.settings import ProviderSettings
from leakrange.wire.endpoints import ARTIFACT, UPLOADED, UPLOADS, check_upload
from leakrange.wire.errors import InvalidInput
from leakrange.wire.releases import ReleaseKind, upload_steps
from leakrange.wire.schemas import Decisions, ModelCard, Releases
from leakrange.wire.tensors import JSON

KEY = re.compile(r"[!-~]{1,255}")


def native_routes(settings: ProviderSettings, models: LoadedModels, intake: Intake) -> APIRouter:
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

    for endpoint in ANSWERED:
        router.add_api_route(
            f"/{{model}}/{endpoint}",
            _answered_before,
            methods=["POST"],
            name=endpoint,
            description=f"The {endpoint} of one or more samples.",
            response_model=Releases,
            route_class_override=BareRoute,
            openapi_extra=SAMPLES,
            responses=VALUES,
        )

    router.add_api_route(
        f"/{{model}}/{UPLOADS}",
        _outputs(settings, models, intake),
        methods=["POST"],
        response_model=Decisions,
        route_class_override=BareRoute,
        openapi_extra=OUTPUTS,
    )
    return router


async def _answered_before(_request: Request) -> Response:
    raise NotImplementedError("`InferenceApp` answers before the framework; the route is for the document")


def _outputs(settings: ProviderSettings, models: LoadedModels, intake: Intake) -> Handler:
    async def outputs(request: Request) -> Response:
        """Take in the outputs that an edge client computed itself, and decide on them."""
        served = models.answering(request.path_params["model"], UPLOADS)
        key = request.headers.get("idempotency-key")
        if key is not None and not KEY.fullmatch(key):
            raise InvalidInput("an idempotency key is 1 to 255 printable ASCII characters without blanks")
        named = request.headers.get("x-release")
        release_header, array = await read_body(
            request,
            lambda content_type, body: upload_steps(
                content_type, named, body, max_samples=settings.max_upload
            ),
        )
        release = _release_kind(release_header)
        check_upload(served.card, release, array)
        decisions = await intake.take_in(served, release, array, key)
        return Response(decisions.model_dump_json(), media_type=JSON)

    return outputs


def _release_kind(kind: str | None) -> ReleaseKind:
    for release in UPLOADED:
        if kind == release:
            return release
    if kind is None:
        raise InvalidInput("an npy upload wants the header X-Release", hint="send 'X-Release: logits'")
    raise InvalidInput(f"an upload is {' or '.join(UPLOADED)}, not {kind[:64]!r}")
