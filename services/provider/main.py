"""The provider service, wired."""

from __future__ import annotations

import asyncio
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
from leakrange.services.provider.database import PostgreSQL, SQLite, StateDatabase
from leakrange.services.provider.decoding import DecodingProcess
from leakrange.services.provider.device import ComputeDevice, place
from leakrange.services.provider.generation import FileGeneration, Generation
from leakrange.services.provider.intake import Intake
from leakrange.services.provider.metrics import ProviderMetrics
from leakrange.services.provider.models import LoadedModels
from leakrange.services.provider.native import documented_routes, native_routes
from leakrange.services.provider.operator_api import operator_routes
from leakrange.services.provider.replicas import ReplicaGeneration
from leakrange.services.provider.settings import ProviderSettings
from leakrange.services.provider.store import Store
from leakrange.store.places import store_at


def create_provider(settings: ProviderSettings, decoding: DecodingProcess | None = None) -> InferencePath:
    """The ASGI application: inference first, then the framework, whose lifespan opens models and intake.
    Providers of one process may share the ``decoding``."""
    torch.set_num_threads(settings.threads)
    registry = CollectorRegistry()
    metrics = ProviderMetrics(registry)
    database, generation = _state(settings)
    store = Store(database)
    worker = this_worker()
    device = ComputeDevice(place(worker.number if worker else 0, torch.cuda.device_count()))
    models = LoadedModels(settings, store, generation, device, metrics)
    intake = Intake(models, store, metrics, decoding or DecodingProcess())

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await database.open()
        with sparing_what_lives():
            await models.open()
            yield
            await models.close()
        device.close()
        await database.close()

    async def models_dir() -> None:
        await asyncio.to_thread(store_at(settings.models_dir).ping)

    app = create_app(
        "provider",
        max_body=settings.max_body,
        lifespan=lifespan,
        ready={"models": models_dir, "state": models.follow},
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


def _state(settings: ProviderSettings) -> tuple[StateDatabase, Generation]:
    if not (url := settings.state_url.get_secret_value()):
        folder = settings.state_dir
        return SQLite(folder / "provider.sqlite"), FileGeneration(folder)
    database = PostgreSQL(url, settings.provider_name)
    return database, ReplicaGeneration(database, settings.replica_lease)
