"""Inference in raw ASGI, before the framework: ``POST /v1/models/{model}/{endpoint}``."""

from __future__ import annotations

import io
import time

import structlog
from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from leakrange import tracing
from leakrange.service.app import HUNG_UP, RequestMetrics
from leakrange.service.bodies import CLOSE, Lingering, has_body, switches_protocol
from leakrange.service.memory import give_back_memory
from leakrange.services.provider.hot_path import values_bytes, version_header
from leakrange.services.provider.models import LoadedModels
from leakrange.services.provider.settings import ProviderSettings
from leakrange.wire.codecs import decoding_size, sample_steps
from leakrange.wire.endpoints import RELEASES
from leakrange.wire.errors import BodyTooLarge, LeakrangeError
from leakrange.wire.problems import send_problem
from leakrange.wire.tensors import negotiate
from leakrange.wire.turns import LARGE, in_turns

__all__ = ["ANSWERED", "InferenceApp"]

log = structlog.get_logger("leakrange.services.provider.inference")
ANSWERED = tuple(endpoint for endpoint, kind in RELEASES.items() if kind != "score")
"""Endpoints that release a net's outputs for each sample; routes of the framework compare pairs."""


class _HungUp(Exception):
    """The client went away before its request was complete."""


class InferenceApp:
    """Answers requests for releases; everything else goes to ``app``.

    The routes exist in the framework as well, for its document alone. A request for a small net costs less
    than the framework's layers, request and response objects.
    """

    def __init__(
        self, app: FastAPI, settings: ProviderSettings, models: LoadedModels, metrics: RequestMetrics
    ) -> None:
        self.app, self._models, self._metrics = app, models, metrics
        self._max_body, self._max_batch = settings.max_body, settings.max_batch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] == "http" and self._models.stale and scope["path"].startswith("/v1/"):
            await self._models.follow()  # another process has changed what is served
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.app(scope, receive, send)
        parts = scope["path"].split("/")
        if len(parts) != 5 or parts[4] not in ANSWERED or parts[1:3] != ["v1", "models"] or not parts[3]:
            return await self.app(scope, receive, send)
        started = time.perf_counter()
        model, endpoint = parts[3:]
        headers = dict(scope["headers"])
        lingering = Lingering(receive, send) if has_body(headers) else None
        if lingering is not None:
            receive, send = lingering.receive, lingering.send
        status = 500
        try:
            media, version, content = await self._answer(model, endpoint, headers, receive)
            status = 200
            length = str(len(content)).encode()
            response_headers = [(b"content-type", media), (b"content-length", length), version]
            await send({"type": "http.response.start", "status": status, "headers": response_headers})
            await send({"type": "http.response.body", "body": content})
        except _HungUp:
            status = HUNG_UP
        except LeakrangeError as error:
            status = error.status
            await send_problem(error, scope, receive, send)
        except Exception as error:
            if _closed(error):
                status = HUNG_UP
                return
            status = 500
            log.error("unhandled error", path=scope["path"], exc_info=error)
            bug = LeakrangeError("an error that nobody foresaw; the service's log tells more")
            await send_problem(bug, scope, receive, send)
        finally:
            self._metrics.answered(
                scope["method"], f"/v1/models/{{model}}/{endpoint}", scope["path"], status, started
            )

    async def _answer(
        self, model: str, endpoint: str, headers: dict[bytes, bytes], receive: Receive
    ) -> tuple[bytes, tuple[bytes, bytes], bytes]:
        """Media type, version header and body of the answer."""
        if (upgrade := switches_protocol(headers)) is not None:
            raise upgrade
        served = self._models.answering(model, endpoint)
        accepted = negotiate(_text(headers, b"accept"))
        body = await self._body(headers, receive)
        card, content_type = served.card, _text(headers, b"content-type")
        try:
            steps = sample_steps(content_type, body, spec=card.input, most=self._max_batch)
            samples = await in_turns(steps, decoding_size(content_type, body, card.input))
        finally:
            if len(body) >= LARGE:
                give_back_memory()
        kind = RELEASES[endpoint]
        with tracing.span("inference", model=model, samples=len(samples)):
            values = await served.release(kind, samples)
        return accepted.encode(), version_header(card), values_bytes(card, kind, values, accepted)

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> bytes:
        """The whole body; raises `BodyTooLarge`, and by a declared length at once."""
        declared = headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > self._max_body:
            raise self._too_large()
        message = await receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            content: bytes = message.get("body", b"")
            if len(content) > self._max_body:
                raise self._too_large()
            return content
        buffer = io.BytesIO()  # a list of pieces would have to be copied in the end
        while True:
            if message["type"] == "http.disconnect":
                raise _HungUp
            buffer.write(message.get("body", b""))
            if buffer.tell() > self._max_body:
                raise self._too_large()
            if not message.get("more_body", False):
                return buffer.getvalue()
            message = await receive()

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(f"a request body may have {self._max_body} bytes", headers=dict(CLOSE))


def _closed(error: Exception) -> bool:
    """Whether the connection was closed a moment ago, so that the server does not know it yet."""
    return isinstance(error, RuntimeError) and "the handler is closed" in str(error)  # uvloop


def _text(headers: dict[bytes, bytes], name: bytes) -> str | None:
    value = headers.get(name)
    return None if value is None else value.decode("latin-1")
