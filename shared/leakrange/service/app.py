"""The frame of every HTTP service: problem details, health, readiness, metrics, limits on bodies and on
browsers. Pure-ASGI middleware only."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any

import orjson
import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram
from pydantic import SecretStr
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import leakrange
from leakrange.service.bodies import Bodies
from leakrange.service.documents import Confined
from leakrange.service.exposition import Exposition
from leakrange.service.hot_path import HUNG_UP
from leakrange.service.reference import add_reference
from leakrange.wire.errors import (
    PROBLEM_BASE,
    Forbidden,
    InvalidInput,
    LeakrangeError,
    MalformedBody,
    Unauthenticated,
)
from leakrange.wire.keys import is_key
from leakrange.wire.problems import PROBLEM, problem_response
from leakrange.wire.schemas import Health

__all__ = ["METHODS", "RequestMetrics", "bearer", "check_operator", "create_app"]

ReadyCheck = Callable[[], Awaitable[None]]
log = structlog.get_logger("leakrange.service.app")


def bearer(header: str | None) -> str:
    """The key of an ``Authorization: Bearer`` header; raises `Unauthenticated` if there is none."""
    scheme, _, key = (header or "").partition(" ")
    if scheme.lower() != "bearer" or not key.strip():
        raise Unauthenticated("this endpoint wants an API key")
    return key.strip()


def check_operator(header: str | None, key: SecretStr) -> None:
    """Allow only the operator: raises `Unauthenticated` without a key, `Forbidden` with another. ``key`` may
    be several, while it is rotated. The comparison takes constant time."""
    if not is_key(bearer(header), key.get_secret_value()):
        raise Forbidden("this endpoint is for the operator of the range alone")


class RequestMetrics:
    """Requests, counted and timed by method, route and status."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("method", "route", "status")
        self._requests = Counter("leakrange_requests", "Requests answered", labels, registry=registry)
        self._seconds = Histogram(
            "leakrange_request_seconds",
            "Time to answer",
            ("method", "route"),
            registry=registry,
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
        )
        self._counters: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}

    def answered(self, method: str, route: str, path: str, status: int, begun: float) -> None:
        """Note a request that began at ``begun`` (`time.perf_counter`); log it at debug level, a 5xx at
        error level. ``route`` is a pattern: paths hold names that users choose, and labels must stay few."""
        seconds = time.perf_counter() - begun
        method = method if method in METHODS else "OTHER"
        counters = self._counters.get((method, route, status))
        if counters is None:  # kept, for looking them up costs more than counting
            counters = self._requests.labels(method, route, status), self._seconds.labels(method, route)
            self._counters[method, route, status] = counters
        counters[0].inc()
        counters[1].observe(seconds)
        if status < 400 and not _debugging():
            return
        note = log.error if status >= 500 else log.info if status >= 400 else log.debug
        note("request", method=method, path=path[:200], status=status, ms=round(seconds * 1e3, 2))


def _debugging() -> bool:
    return logging.getLogger("leakrange.service.app").isEnabledFor(logging.DEBUG)


class Measure:
    """Notes each request in `RequestMetrics`."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self.app, self._metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        status = 500
        begun = time.perf_counter()

        async def watched(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, watched)
        finally:
            route = getattr(scope.get("route"), "path", None) or "(none)"
            self._metrics.answered(scope["method"], route, scope["path"], status, begun)


METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


def create_app(
    party: str,
    *,
    max_body: int,
    lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None = None,
    ready: Mapping[str, ReadyCheck] | None = None,
    registry: CollectorRegistry | None = None,
    metrics_key: SecretStr | None = None,
    refresh: Callable[[], Awaitable[None]] | None = None,
    description: str = "",
) -> FastAPI:
    """A FastAPI application with the behaviour that all services share.

    Errors of `leakrange.wire.errors`, validation errors and unknown paths become problem details. ``GET
    /healthz`` says that the process lives. ``/readyz`` says that each check of ``ready`` passes within two
    seconds (else 503, naming those that do not). ``/metrics`` is for Prometheus, and covers all workers
    behind the port; a ``metrics_key`` is then required, if given. ``refresh`` is awaited before, and updates
    metrics that are kept elsewhere. ``registry`` holds the service's own metrics (``app.state.metrics``),
    also `RequestMetrics` (``app.state.requests``). ``/docs`` describes the API to people.
    """
    metrics = registry or CollectorRegistry()
    exposition = Exposition(metrics)

    @asynccontextmanager
    async def living(app: FastAPI) -> AsyncIterator[None]:
        _build_routes(app)
        async with exposition.shared(), lifespan(app) if lifespan else nullcontext():
            yield

    app = FastAPI(
        title=f"Leakrange {party}",
        description=description,
        version=leakrange.__version__,
        lifespan=living,
        openapi_url=None,
        docs_url=None,  # the framework's own run the scripts of another site
        redoc_url=None,
        responses={
            "4XX": {
                "description": "Problem details (RFC 9457)",
                "content": {PROBLEM: {"schema": _PROBLEM_SCHEMA}},
            }
        },
    )
    app.state.metrics = metrics
    requests = app.state.requests = RequestMetrics(metrics)
    app.add_middleware(Bodies, limit=max_body)
    app.add_middleware(Confined)
    app.add_middleware(Measure, metrics=requests)
    for error, handler in _HANDLERS.items():
        app.add_exception_handler(error, handler)
    add_reference(app)
    _add_health(app, party, ready or {})
    _add_metrics(app, exposition, metrics_key, refresh)
    return app


def _build_routes(app: FastAPI) -> None:
    """Build what FastAPI would build at the first request: nobody waits for it then, and it happens before
    other threads run, since FastAPI changes what the whole process warns of meanwhile."""
    nowhere = {"type": "http", "method": "GET", "path": "/nowhere", "root_path": "", "headers": []}
    for route in app.routes:
        route.matches(nowhere)


def _add_health(app: FastAPI, party: str, ready: Mapping[str, ReadyCheck]) -> None:
    @app.get("/healthz", tags=["health"])
    async def healthz() -> Health:
        """The process lives."""
        return Health(party=party, version=leakrange.__version__)

    @app.get("/readyz", tags=["health"], responses={503: {"description": "Not ready"}})
    async def readyz() -> Response:
        """Everything that this service needs answers."""
        failed: dict[str, str] = {}
        for name, check in ready.items():
            try:
                await asyncio.wait_for(check(), timeout=2.0)
            except (OSError, TimeoutError, LeakrangeError, RuntimeError) as error:
                failed[name] = str(error)[:300] or type(error).__name__
        body = {"status": "unready" if failed else "ready", "failed": failed}
        return Response(orjson.dumps(body), 503 if failed else 200, media_type="application/json")


def _add_metrics(
    app: FastAPI,
    exposition: Exposition,
    key: SecretStr | None,
    refresh: Callable[[], Awaitable[None]] | None,
) -> None:
    @app.get("/metrics", tags=["health"], include_in_schema=False)
    async def scrape(request: Request) -> Response:
        if key is not None:
            check_operator(request.headers.get("authorization"), key)
        if refresh is not None:
            await refresh()
        return Response(await exposition.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _known(request: Request, error: LeakrangeError) -> Response:
    return problem_response(error, request.url.path)


async def _hung_up(_request: Request, _error: ClientDisconnect) -> Response:
    return Response(status_code=HUNG_UP)  # nobody reads it: for the log and the metrics


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    mistakes = [
        {"path": ".".join(map(str, item["loc"])), "message": item["msg"]} for item in error.errors()[:50]
    ]
    problem: LeakrangeError = InvalidInput(f"{len(mistakes)} field(s) cannot be taken", mistakes=mistakes)
    if any(item["type"] == "json_invalid" for item in error.errors()):
        problem = MalformedBody("the body is not JSON", mistakes=mistakes)
    return problem_response(problem, request.url.path)


async def _http(request: Request, error: HTTPException) -> Response:
    slug = _SLUGS.get(error.status_code, "http-error")
    body = {
        "type": PROBLEM_BASE + slug,
        "title": str(error.detail),
        "status": error.status_code,
        "instance": request.url.path,
    }
    return Response(orjson.dumps(body), error.status_code, dict(error.headers or {}), media_type=PROBLEM)


async def _unknown(request: Request, error: Exception) -> Response:
    log.error("unhandled error", path=request.url.path, exc_info=error)
    bug = LeakrangeError("an error that nobody foresaw; the service's log tells more")
    return problem_response(bug, request.url.path)


_HANDLERS: dict[type[Exception], Any] = {
    LeakrangeError: _known,
    ClientDisconnect: _hung_up,
    RequestValidationError: _invalid,
    HTTPException: _http,
    Exception: _unknown,
}

_SLUGS = {400: "malformed-body", 404: "not-found", 405: "method-not-allowed"}
"""Problem types of the framework's own errors."""

_PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "hint": {"type": "string"},
        "instance": {"type": "string"},
    },
}
