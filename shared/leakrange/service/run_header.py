"""The header by which the controller names the run that a request is for. Edge clients bind it to their logs;
it goes nowhere else, least of all to proxies and providers."""

from __future__ import annotations

from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send
from structlog.contextvars import bound_contextvars

from leakrange.wire.names import is_name

__all__ = ["RUN", "BindRun"]

RUN: Final = "Leakrange-Run"


class BindRun:
    """Binds the run that a request is for to every line that is logged for it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] == "http":
            wanted = RUN.lower().encode()
            run = next((value for name, value in scope["headers"] if name == wanted), b"").decode("latin-1")
            if is_name(run):  # it is whoever asks that chooses it
                with bound_contextvars(run=run):
                    return await self.app(scope, receive, send)
        await self.app(scope, receive, send)
