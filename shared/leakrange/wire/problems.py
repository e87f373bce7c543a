"""Errors as RFC 9457 problem details."""

from __future__ import annotations

import orjson
from fastapi import Response
from starlette.types import Receive, Scope, Send

from leakrange.wire.errors import LeakrangeError

__all__ = ["PROBLEM", "problem_response", "send_problem"]

PROBLEM = "application/problem+json"


def problem_response(error: LeakrangeError, path: str | None = None) -> Response:
    """The RFC 9457 response of an error."""
    return Response(
        orjson.dumps(error.problem(path), default=str), error.status, dict(error.headers), media_type=PROBLEM
    )


async def send_problem(error: LeakrangeError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a raw ASGI request with a problem."""
    await problem_response(error, scope.get("path"))(scope, receive, send)
