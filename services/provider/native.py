"""The native API: what users and edge clients call. Inference and intake are bare routes (`hot_path`)."""

from __future__ import annotations

import base64
import re
from functools import partial
from typing import Any

from fastapi import APIRouter, Request, Response

from leakrange.wire.errors import InvalidInput, UnsupportedMedia
from leakrange.wire.images import ImageLimits, decode_images
from leakrange.wire.jobs import ReleaseKind
from leakrange.wire.schemas import Decisions, ModelCard, Releases
from leakrange.wire.tensors import (
    JSON,
    NPY,
    decode_npy,
    media_type,
    negotiate,
    numeric_array,
    parse_json,
    release_array,
)
from services.provider.hot_path import BareRoute, Handler, read_body, values_response
from services.provider.intake import Intake
from services.provider.models import UPLOADED, Models
from services.provider.openapi import ARTIFACT, IMAGES, OUTPUTS, RELEASES
from services.provider.settings import ProviderSettings

__all__ = ["native_routes"]

KEY = re.compile(r"[!-~]{1,255}")


def native_routes(settings: ProviderSettings, models: Models, intake: Intake) -> APIRouter:
    """The routes below ``/v1/models``."""
    router = APIRouter(prefix="/v1/models", tags=["native"])
    limits = ImageLimits(samples=settings.max_batch)

    @router.get("")
    async def list_models() -> dict[str, list[ModelCard]]:
        """The cards of all models."""
        return {"models": [served.card for served in models]}

    @router.get("/{model}")
    async def card(model: str) -> ModelCard:
        """What there is to know of a model before it is used."""
        return models[model].card

    @router.get("/{model}/artifact", response_class=Response, responses=ARTIFACT)
    async def artifact(model: str, request: Request) -> Response:
        """The model itself, a safetensors file with its config; compare its SHA-256 with the card's."""
        served = models.answering(model, "artifact")
        headers = {
            "ETag": f'"{served.card.sha256}"',
            "Repr-Digest": f"sha-256=:{base64.b64encode(bytes.fromhex(served.card.sha256)).decode()}:",
        }
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(served.public, headers=headers, media_type="application/octet-stream")

    def inference(endpoint: str, kind: ReleaseKind) -> Handler:
        async def infer(request: Request) -> Response:
            served = models.answering(request.path_params["model"], endpoint)
            wanted = negotiate(request.headers.get("accept"))
            read = partial(decode_images, shape=served.card.input_shape, limits=limits)
            images = await read_body(request, read)
            return values_response(served.card, kind, await served.release(kind, images), wanted)

        infer.__doc__ = f"The {endpoint} of one or more images."
        return infer

    for endpoint, kind in _KINDS.items():
        router.add_api_route(
            f"/{{model}}/{endpoint}",
            inference(endpoint, kind),
            methods=["POST"],
            name=endpoint,
            response_model=Releases,
            route_class_override=BareRoute,
            openapi_extra=IMAGES,
            responses=RELEASES,
        )

    async def outputs(request: Request) -> Response:
        """Take in the outputs that an edge client computed itself, and decide on them."""
        served = models.answering(request.path_params["model"], "outputs")
        key = request.headers.get("idempotency-key")
        if key is not None and not KEY.fullmatch(key):
            raise InvalidInput("an idempotency key is 1 to 255 printable ASCII characters without blanks")
        release, values = _upload(request, await request.body())
        array = release_array(values, max_samples=settings.max_upload)
        classes = len(served.card.classes)
        if array.shape[1] != classes:
            raise InvalidInput(
                f"this model has {classes} classes; the upload has {array.shape[1]} values a sample"
            )
        decisions = await intake.take_in(served, release, array, key)
        return Response(decisions.model_dump_json(), media_type=JSON)

    router.add_api_route(
        "/{model}/outputs",
        outputs,
        methods=["POST"],
        response_model=Decisions,
        route_class_override=BareRoute,
        openapi_extra=OUTPUTS,
    )
    return router


_KINDS: dict[str, ReleaseKind] = {
    "logits": "logits",
    "softmax": "softmax",
    "features": "features",
    "recognition": "softmax",
}


def _release_kind(kind: str) -> ReleaseKind:
    for known in UPLOADED:
        if kind == known:
            return known
    raise InvalidInput(f"an upload is {' or '.join(UPLOADED)}, not {kind[:64]!r}")


def _upload(request: Request, body: bytes) -> tuple[ReleaseKind, Any]:
    """Kind and values of an upload, either form; the values are numbers, and nothing more is sure of them."""
    kind = media_type(request.headers.get("content-type"))
    if kind == NPY:
        named = request.headers.get("x-release")
        if named is None:
            raise InvalidInput("an npy upload wants the header X-Release", hint="send 'X-Release: logits'")
        return _release_kind(named), decode_npy(body)
    if kind != JSON:
        raise UnsupportedMedia(
            f"content type {kind or 'none'!r} holds no outputs", hint=f"send {JSON} or {NPY}"
        )
    given = parse_json(body)
    if (
        not isinstance(given, dict)
        or set(given) != {"release", "values"}
        or not isinstance(given["release"], str)
    ):
        raise InvalidInput('an upload is {"release": "logits", "values": [[...]]} and nothing else')
    if b"true" in body or b"false" in body:  # among numbers, NumPy would take them for 1 and 0
        raise InvalidInput("'values' must hold numbers only, not booleans")
    return _release_kind(given["release"]), numeric_array(given["values"], "values")
