"""A small server of several workers: ``python -m tests.service.several PORT WORKERS GATE``.

``/slow`` connects to 127.0.0.1:GATE and answers when it is told something there. With GATE 0, no worker
starts.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from prometheus_client import CollectorRegistry, Counter

from leakrange.service.app import create_app
from leakrange.service.logs import configure_logs
from leakrange.service.serving import serve
from leakrange.service.settings import ServiceSettings

PORT, WORKERS, GATE = (int(each) for each in sys.argv[1:])


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    if not GATE:
        raise OSError("nothing to serve")
    yield


def build() -> FastAPI:
    registry = CollectorRegistry()
    asked = Counter("asked", "Requests for the process id", registry=registry)
    app = create_app("tested", max_body=1024, lifespan=lifespan, registry=registry)

    @app.get("/pid")
    async def pid() -> int:
        asked.inc()
        return os.getpid()

    @app.get("/slow")
    async def slow() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", GATE)
        await reader.read(1)
        writer.close()
        return os.getpid()

    return app


if __name__ == "__main__":
    configure_logs("tested")
    serve(build, ServiceSettings(port=PORT, operator_key="0123456789abcdef-of-the-tests"), workers=WORKERS)
