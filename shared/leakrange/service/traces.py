"""Turns tracing on in a server process or a worker, and makes each request a part of its sender's trace.

Spans go to a collector if OpenTelemetry's own variables name one (``OTEL_EXPORTER_OTLP_ENDPOINT``, and the
others of its specification), and as JSON lines to a folder, if one is set.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leakrange import tracing
from leakrange.service.app import METHODS
from leakrange.tracing.paths import pattern

__all__ = ["Traced", "configure_traces"]

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines: nobody wants their traces."""


def configure_traces(party: str, folder: Path | None, *, passes_on: bool = False) -> None:
    """Turn tracing on if a collector or a ``folder`` is named, else off; ends the process if a needed package
    is not installed. ``passes_on``: see `leakrange.tracing.spans.Spans`."""
    collector = any(map(os.environ.get, ENDPOINTS))
    if not collector and folder is None:
        tracing.use(None)
        return
    try:
        from leakrange.service.exporting import spans_of
    except ImportError as error:
        sys.exit(f"tracing needs {error.name}: pip install 'leakrange[observe]'")
    tracing.use(spans_of(party, folder, collector=collector, passes_on=passes_on))


class Traced:
    """A span for each request that ``app`` answers, as a part of its sender's trace."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] != "http" or scope["path"] in QUIET:
            return await self.app(scope, receive, send)
        header = next((value for name, value in scope["headers"] if name == b"traceparent"), None)
        traceparent = None if header is None else header.decode("latin-1")
        method = scope["method"] if scope["method"] in METHODS else "OTHER"

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                tracing.note(**{"http.response.status_code": message["status"]})
            await send(message)

        name = f"{method} {pattern(scope['path'])[:100]}"
        with tracing.received(name, traceparent, "server", **{"http.request.method": method}):
            await self.app(scope, receive, noted)
