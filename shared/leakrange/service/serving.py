"""Serves a party's application until it is stopped, in one process or in several."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Callable

import structlog
import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE

from leakrange import tracing
from leakrange.service.connections import Connections
from leakrange.service.hosts import HostGuard
from leakrange.service.settings import ServiceSettings
from leakrange.service.traces import Traced
from leakrange.service.workers import listening, supervise

__all__ = ["configuration", "serve"]

log = structlog.get_logger("leakrange.service.serving")


def configuration(
    app: ASGIApp, settings: ServiceSettings, *, grace: int = 10, server_header: bool = True
) -> uvicorn.Config:
    """Return the server's configuration: address, limits on connections and allowed hosts from ``settings``.
    When stopped, requests in progress get ``grace`` seconds to end."""
    return uvicorn.Config(
        HostGuard(Traced(app) if tracing.on() else app, settings.allowed_hosts, settings.host),
        host=settings.host,
        port=settings.port,
        loop="uvloop",
        http=Connections(settings).protocol,  # type: ignore[arg-type]  # whatever makes a protocol
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=server_header,
        timeout_graceful_shutdown=grace,
    )


def serve(
    make: Callable[[], ASGIApp],
    settings: ServiceSettings,
    *,
    workers: int = 1,
    grace: int = 10,
    server_header: bool = True,
) -> None:
    """Serve the application that ``make`` returns until a signal stops it, configured by `configuration`, in
    so many ``workers``, each with its own application; ends the process if the start fails."""
    os.umask(0o077)  # no other user may read what a party stores

    def run(sockets: list[socket.socket] | None = None) -> None:
        server = uvicorn.Server(configuration(make(), settings, grace=grace, server_header=server_header))
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets)
        tracing.flush()
        if not server.started:
            sys.exit(STARTUP_FAILURE)

    if workers == 1:
        run()
        return
    try:
        with listening(settings.host, settings.port, shared=False):
            pass  # sharing would let a second server in by mistake
        with listening(settings.host, settings.port) as held:  # the port stays ours while workers come and go
            port = held[0].getsockname()[1]

            def run_one() -> None:
                with listening(settings.host, port) as sockets:
                    run(sockets)

            status = supervise(run_one, workers)
    except OSError as error:
        log.error("the address cannot be used", host=settings.host, port=settings.port, error=str(error))
        status = STARTUP_FAILURE
    if status:
        sys.exit(status)
