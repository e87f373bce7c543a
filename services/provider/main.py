"""The provider service, wired."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import torch
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from leakrange.service.app import create_app
from leakrange.service.garbage import sparing_what_lives
from leakrange.service.workers import this_worker
from services.provider.decoding import DecodingProcess
from services.provider.device import Device, place
from services.provider.inference import Inference
from services.provider.intake import Intake
from services.provider.metrics import ProviderMetrics
from services.provider.models import Models
from services.provider.native import native_routes
from services.provider.operator_api import operator_routes
from services.provider.settings import ProviderSettings
from services.provider.store import Store
from services.provider.verification import verification_routes


def create_provider(settings: ProviderSettings, decoding: DecodingProcess | None = None) -> Inference:
    """The ASGI application: inference in front, the framework behind. Models and intake are opened by its
    lifespan. Providers of one process may share the ``decoding``."""
    torch.set_num_threads(settings.threads)
    registry = CollectorRegistry()
    metrics = ProviderMetrics(registry)
    store = Store(settings.state_dir)
    worker = this_worker()
    device = Device(place(worker.number if worker else 0, torch.cuda.device_count()))
    models = Models(settings, store, device, metrics)
    intake = Intake(models, store, metrics, decoding or DecodingProcess())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await store.open()
        with sparing_what_lives():
            await models.open()
            yield
            models.close()
        device.close()
        await store.close()

    async def models_dir() -> None:
        await asyncio.to_thread(os.listdir, settings.models_dir)

    app = create_app(
        "provider",
        max_body=settings.max_body,
        lifespan=lifespan,
        ready={"models": models_dir},
        registry=registry,
        metrics_key=settings.metrics_key,
        description="Classifiers over HTTP: their outputs, the model itself, decisions on uploads; and "
        "student services of a teacher: feature vectors, face verification and recognition.",
    )
    app.include_router(native_routes(settings, models, intake))
    app.include_router(verification_routes(settings, models))
    app.include_router(operator_routes(settings.operator_key, models, intake))
    return Inference(app, settings, models, app.state.requests)
