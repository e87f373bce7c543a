"""The controller's web server: it ends open event streams before it waits for connections to close."""

from __future__ import annotations

import socket

import uvicorn
from fastapi import FastAPI

from leakrange.service.serving import configuration
from services.controller.settings import ControllerSettings

__all__ = ["ControllerServer"]


class ControllerServer(uvicorn.Server):
    """Serves ``app``. A follower of a run that goes on for hours would hold up every shutdown otherwise."""

    def __init__(self, app: FastAPI, settings: ControllerSettings) -> None:
        super().__init__(configuration(app, settings, grace=5))
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """As of uvicorn."""
        self._app.state.runs.close()
        await super().shutdown(sockets)
