"""Serves a party's application until it is stopped."""

from __future__ import annotations

import contextlib
import os
import sys

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE

from leakrange.service.connections import Connections
from leakrange.service.hosts import HostGuard
from leakrange.service.settings import ServiceSettings

__all__ = ["configuration", "serve"]


def configuration(
    app: ASGIApp, settings: ServiceSettings, *, grace: int = 10, server_header: bool = True
) -> uvicorn.Config:
    """The server's configuration: address, limits on connections and allowed hosts from ``settings``. When
    stopped, requests in progress get ``grace`` seconds to end."""
    return uvicorn.Config(
        HostGuard(app, [settings.host, *settings.allowed_hosts]),
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http=Connections(settings).protocol,  # type: ignore[arg-type]  # whatever makes a protocol
        ws="none",
        log_config=None,
        access_log=False,
        server_header=server_header,
        timeout_graceful_shutdown=grace,
    )


def serve(app: ASGIApp, settings: ServiceSettings, *, grace: int = 10, server_header: bool = True) -> None:
    """Serve until told to stop, as `configuration` says; ends the process where the start fails."""
    os.umask(0o077)  # no other user may read what a party stores
    server = uvicorn.Server(configuration(app, settings, grace=grace, server_header=server_header))
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    if not server.started:
        sys.exit(STARTUP_FAILURE)
