"""The server to which KServe's request logger sends what a model was asked and answered."""

from __future__ import annotations

import hmac
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict

import structlog
from fastapi import FastAPI, Request, Response

from leakrange.clients.cli.answer_log import AnswerLog
from leakrange.service.app import bearer, create_app
from leakrange.wire.cloudevents import read_event
from leakrange.wire.errors import Forbidden, LeakrangeError, NotFound, Unauthenticated
from leakrange.wire.keys import api_key

__all__ = ["listener", "listener_key"]

events = structlog.get_logger("leakrange.clients.cli.answer_listener")


def listener_key(operator_key: str, model: str) -> str:
    """The key that may record answers of a model, and do nothing else in the range. It follows from the
    operator's, which it does not tell."""
    return api_key(operator_key, f"record answers of {model}")


def listener(log: AnswerLog, key: str, model: str, max_body: int) -> FastAPI:
    """The application: events of ``model`` go into the ``log``, for whoever has the ``key``."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        log.expire()
        events.info("no more answers are recorded", **asdict(log.counts))

    app = create_app(
        "answers",
        max_body=max_body,
        lifespan=lifespan,
        description="Records what a model was asked and answered.",
    )

    def check(request: Request, name: str) -> None:
        given = _key(request.headers.get("authorization"))
        if not hmac.compare_digest(given.encode(errors="surrogateescape"), key.encode()):
            raise Forbidden(
                "this key may not record answers", hint="'answers listen' prints the one that may"
            )
        if name != model:
            raise NotFound(
                f"answers of {name[:100]!r} are not recorded here", hint=f"send those of {model!r}"
            )

    @app.post("/v1/models/{name}/events", status_code=202)
    async def take(name: str, request: Request) -> Response:
        """Take a CloudEvent with a request or a response, in binary or structured mode."""
        check(request, name)  # before the body is read
        try:
            event = read_event(request.headers, await request.body())
        except LeakrangeError:
            log.counts.refused += 1
            raise
        log.take(event)
        return Response(status_code=202)

    @app.get("/v1/models/{name}/events")
    async def counts(name: str, request: Request) -> dict[str, int]:
        """The numbers of recorded samples, and of events that gave none."""
        check(request, name)
        log.expire()
        return asdict(log.counts)

    return app


def _key(header: str | None) -> str:
    """The key of an ``Authorization`` header: a bearer's, or the password of an address such as
    ``http://logger:KEY@host``, which is how a logger that knows only an address can send one."""
    scheme, _, given = (header or "").partition(" ")
    if scheme.lower() != "basic":
        return bearer(header)
    try:
        return b64decode(given.strip(), validate=True).decode().partition(":")[2]
    except ValueError as error:
        raise Unauthenticated("the header Authorization holds no key") from error
