"""How a party serves its application, until it is told to stop."""

from __future__ import annotations

import os

import uvicorn
from fastapi import FastAPI

from leakrange.wire.settings import ServiceSettings

__all__ = ["serve"]


def serve(app: FastAPI, settings: ServiceSettings, *, grace: int = 10, server_header: bool = True) -> None:
    """Listen where ``settings`` say. When stopped, requests under way get ``grace`` seconds to end."""
    os.umask(0o077)  # what a party keeps is for its own eyes
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http="httptools",
        log_config=None,
        access_log=False,
        server_header=server_header,
        timeout_graceful_shutdown=grace,
    )
