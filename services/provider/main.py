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
from leakrange.service.open_inference import documented_inference
from leakrange.service.workers import this_worker
from leakrange.services.provider.data_path import InferencePath
from leakrange.services.provider.decoding import DecodingProcess
from leakrange.services.provider.device import ComputeDevice, place
from leakrange.services.provider.intake import Intake
from leakrange.services.provider.metrics import ProviderMetrics
from leakrange.services.provider.models import LoadedModels
from leakrange.services.provider.native import documented_routes, native_routes
from leakrange.services.provider.operator_api import operator_routes
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.provider.store import Store


def create_provider(settings: ProviderSettings, decoding: DecodingProcess | None = None) -> InferencePath:
    """The ASGI application: inference first, then the framework, whose lifespan opens models and intake.
    Providers of one process may share the ``decoding``."""
    torch.set_num_threads(settings.threads)
    registry = CollectorRegistry()
    metrics = ProviderMetrics(registry)
    store = Store(settings.state_dir)
    worker = this_worker()
    device = ComputeDevice(place(worker.number if worker else 0, torch.cuda.device_count()))
    models = LoadedModels(settings, store, device, metrics)
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
    app.include_router(native_routes(models))
    app.include_router(documented_routes())
    app.include_router(documented_inference())
    app.include_router(operator_routes(settings.operator_key, models, intake))
    return InferencePath(app, settings, models, intake, app.state.requests)
