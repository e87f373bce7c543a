"""The edge client, wired."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import torch
from fastapi import FastAPI
from prometheus_client import CollectorRegistry
from pydantic import SecretStr

from leakrange.clients.edge.api import edge_routes
from leakrange.clients.edge.auditor import Auditor
from leakrange.clients.edge.metrics import EdgeMetrics
from leakrange.clients.edge.sessions import Sessions
from leakrange.clients.edge.settings import EdgeSettings
from leakrange.devices.device import Device
from leakrange.devices.enrolment import Enrolments
from leakrange.devices.obfuscators import Obfuscators
from leakrange.service.app import create_app
from leakrange.service.run_header import BindRun
from leakrange.wire.transport import HttpxTransport

__all__ = ["create_edge"]


def create_edge(settings: EdgeSettings) -> FastAPI:
    """The ASGI application."""
    torch.set_num_threads(settings.threads)
    registry = CollectorRegistry()
    metrics = EdgeMetrics(registry)
    transport = HttpxTransport()
    enrolments = Enrolments(transport, most=settings.enrolled, attempts=settings.attempts)
    device = Device(SecretStr(settings.derivation_secret), batch=settings.batch)
    obfuscators = Obfuscators(device.sticky_key, most=settings.enrolled, most_bytes=settings.obfuscator_bytes)
    auditor = Auditor(settings.audit)
    sessions = Sessions(enrolments, device, obfuscators, auditor, metrics)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        await transport.close()
        device.close()

    app = create_app(
        "edge",
        max_body=settings.max_body,
        lifespan=lifespan,
        registry=registry,
        metrics_key=settings.metrics_key,
        description="A device with a provider's model on it: samples stay here, outputs leave.",
    )
    app.add_middleware(BindRun)
    app.include_router(edge_routes(settings, enrolments, device, obfuscators, auditor, sessions, metrics))
    return app
