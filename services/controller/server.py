"""The controller's web server. At shutdown it ends open event streams before it waits for connections to
close."""

from __future__ import annotations

import gc
import socket

import uvicorn
from fastapi import FastAPI

from leakrange.service.serving import configuration
from leakrange.services.controller.settings import ControllerSettings


class ControllerServer(uvicorn.Server):
    """Serves ``app``. Without it, a client that follows a long run would delay every shutdown."""

    def __init__(self, app: FastAPI, settings: ControllerSettings) -> None:
        super().__init__(configuration(app, settings, grace=5))
        self._app = app

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Overrides uvicorn's method."""
        await super().startup(sockets)
        # A collection looks at everything there is, and stops all threads meanwhile: with the states of large
        # runs for a quarter of a second, and four times while one of them is read.
        gc.freeze()
        gc.set_threshold(100_000, 50, 100)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Overrides uvicorn's method."""
        self._app.state.runs.close()
        self._app.state.live.close()
        await super().shutdown(sockets)
