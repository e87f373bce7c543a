"""The provider service, wired."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager

import torch
from fastapi import FastAPI
from prometheus_client import CollectorRegistry

from leakrange.service.app import create_app
from services.provider.decoding import DecodingProcess
from services.provider.intake import Intake
from services.provider.metrics import ProviderMetrics
from services.provider.models import Models
from services.provider.native import native_routes
from services.provider.operator_api import operator_routes
from services.provider.settings import ProviderSettings
from services.provider.store import Store
from services.provider.verification import verification_routes


def create_provider(settings: ProviderSettings, decoding: DecodingProcess | None = None) -> FastAPI:
    """The ASGI application; models and intake are opened by its lifespan. Providers of one process may share
    the ``decoding``."""
    torch.set_num_threads(settings.threads)
    registry = CollectorRegistry()
    metrics = ProviderMetrics(registry)
    store = Store(settings.state_dir)
    # One thread for all models, since one batch at a time is what a device does best. In the event loop
    # itself, a large batch would hold up health checks, refusals and the reading of the next requests.
    device = ThreadPoolExecutor(1, thread_name_prefix="device")
    models = Models(settings, store, device, metrics)
    intake = Intake(models, store, metrics, decoding or DecodingProcess())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await store.open()
        await models.restore()
        yield
        device.shutdown()
        await store.close()

    async def models_dir() -> None:
        await asyncio.to_thread(os.listdir, settings.models_dir)

    app = create_app(
        "provider",
        max_body=settings.max_body,
        lifespan=lifespan,
        ready={"models": models_dir},
        registry=registry,
        description="Classifiers over HTTP: their outputs, the model itself, decisions on uploads; and "
        "student services of a teacher: feature vectors, face verification and recognition.",
    )
    app.include_router(native_routes(settings, models, intake))
    app.include_router(verification_routes(settings, models))
    app.include_router(operator_routes(settings.operator_key, models, intake))
    return app
