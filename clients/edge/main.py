"""The edge-client service: devices of users, simulated in one process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import torch
from fastapi import APIRouter, Depends, FastAPI, Header, Path, Request
from pydantic import BaseModel, ConfigDict, Field

from clients.edge.device import Device
from clients.edge.enrolment import Enrolments
from clients.edge.settings import EdgeSettings
from leakrange.data import load
from leakrange.data.imageset import ImageSet
from leakrange.wire.app import check_operator, create_app
from leakrange.wire.errors import InvalidInput
from leakrange.wire.images import ImageLimits, decode_images
from leakrange.wire.schemas import Decisions, ModelCard, Round, RoundReply
from leakrange.wire.transport import HttpxTransport

__all__ = ["create_edge"]

router = APIRouter(prefix="/v1", tags=["device"])
ModelName = Annotated[str, Path(max_length=128)]


class Enrolment(BaseModel):
    """``POST /v1/enrolments``: which model to take from which proxy or provider."""

    model_config = ConfigDict(extra="forbid")

    url: Annotated[str, Field(pattern=r"^https?://", max_length=2048)]
    api_key: Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[!-~]+$")]
    model: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$")]


def _operator(request: Request, authorization: Annotated[str | None, Header()] = None) -> None:
    check_operator(authorization, request.app.state.settings.operator_key)


@router.post("/enrolments", dependencies=[Depends(_operator)])
async def enrol(request: Request, order: Enrolment) -> ModelCard:
    """Download a model, check it against its card, and keep it ready."""
    enrolments: Enrolments = request.app.state.enrolments
    return (await enrolments.enrol(order.url, order.api_key, order.model)).card


@router.post(
    "/models/{model}/decisions",
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                "application/x-npy": {"schema": {"type": "string", "format": "binary"}},
                "image/png": {"schema": {"type": "string", "format": "binary"}},
                "application/json": {"schema": {"type": "object"}},
            },
        }
    },
)
async def decide(request: Request, model: ModelName) -> Decisions:
    """The app that the user sees: images in any encoding, decisions back. Only the model's outputs leave
    the device.
    """
    state = request.app.state
    enrolled = state.enrolments[model]
    images = decode_images(
        request.headers.get("content-type"),
        await request.body(),
        shape=enrolled.card.input_shape,
        limits=ImageLimits(samples=state.settings.max_batch),
    )
    sent = await state.device.use(enrolled, images, enrolled.card.default_release, [])
    return Decisions(model=model, version=enrolled.card.version, decisions=sent.decisions)


@router.post("/rounds", dependencies=[Depends(_operator)])
async def run_round(request: Request, order: Round) -> RoundReply:
    """Let the simulated users use the app once: their own images, one upload, and the truth for the
    controller alone.
    """
    state = request.app.state
    images = await asyncio.to_thread(load, order.span.data)
    own = _span(images, order)
    enrolled = await state.enrolments.enrol(order.url, order.api_key, order.model)
    sent = await state.device.use(enrolled, images.images[own], order.release, order.defence, order.upload)
    return RoundReply(
        upload=order.upload,
        samples=len(own),
        decisions=sent.decisions,
        labels={name: labels[own].tolist() for name, labels in images.labels.items()},
        input_bytes=images.images[own].nbytes,
        sent_bytes=sent.sent_bytes,
    )


def _span(images: ImageSet, order: Round) -> list[int]:
    span = order.span
    indices = images.where(span.split)
    if not span.start < span.stop <= len(indices):
        raise InvalidInput(
            f"{images.name} has {len(indices)} {span.split} images, not {span.start} to {span.stop}",
            hint="lower the number of samples of the scenario's clients",
        )
    chosen: list[int] = indices[span.start : span.stop].tolist()
    return chosen


def create_edge(settings: EdgeSettings) -> FastAPI:
    """The ASGI application."""
    torch.set_num_threads(settings.threads)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        transport = HttpxTransport()
        app.state.enrolments = Enrolments(transport)
        app.state.device = Device()
        yield
        await transport.close()

    app = create_app(
        "edge",
        max_body=settings.max_body,
        lifespan=lifespan,
        description="Users' devices: they run a model on their own images, and only outputs leave.",
    )
    app.state.settings = settings
    app.include_router(router)
    return app
