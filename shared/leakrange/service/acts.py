"""Notes what the operator does. The check of the operator's key or login marks a request, so each endpoint
that has the check is noted, and no other."""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import orjson
from fastapi import Request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leakrange.service.app import bearer, check_operator
from leakrange.wire.acts import Act
from leakrange.wire.errors import LeakrangeError

__all__ = ["Noted", "admit_operator", "mark_operator"]

log = logging.getLogger("leakrange.service.acts")
NAMES = {"change", "made"}
"""What is in the stored log alone."""
LONGEST = 2048
"""Bytes of a body of which something is noted, and characters of a path."""
READING = frozenset({"GET", "HEAD", "OPTIONS"})


def mark_operator(request: Request, by: str) -> None:
    """Say that the operator makes this request, known ``by`` a key or a login."""
    request.state.operated_by = by


def admit_operator(request: Request) -> None:
    """Refuse whoever does not show the operator key, as `check_operator` does, and mark the request."""
    header = request.headers.get("authorization")
    check_operator(header, request.app.state.settings.operator_key)
    mark_operator(request, f"key {hashlib.sha256(bearer(header).encode()).hexdigest()[:12]}")


class Noted:
    """Hands each act at ``party`` to ``note``, before the last part of its answer is sent.

    ``shown`` has the fields of bodies in JSON that may be noted, by the part of the path behind ``/admin/``
    or ``/v1/``: a body may hold secrets, so what nobody names is left out.
    """

    def __init__(
        self,
        app: ASGIApp,
        party: str,
        note: Callable[[Act], Awaitable[None]],
        shown: dict[str, frozenset[str]],
    ) -> None:
        self.app, self._party, self._note, self._shown = app, party, note, shown

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] != "http" or scope["method"] in READING:
            return await self.app(scope, receive, send)
        state = scope.setdefault("state", {})
        body = bytearray()
        status, made = 500, None

        async def received() -> Message:
            message = await receive()
            if len(body) <= LONGEST:
                body.extend(message.get("body", b""))
            return message

        async def sent(message: Message) -> None:
            nonlocal status, made
            if message["type"] == "http.response.start":
                status = message["status"]
                made = Headers(raw=message["headers"]).get("location") if status in (201, 202) else None
            elif "operated_by" in state and not message.get("more_body"):
                await self._hand_on(scope, state.pop("operated_by"), status, bytes(body), made)
            await send(message)

        try:
            await self.app(scope, received, sent)
        finally:  # no answer was sent where it is marked still
            if "operated_by" in state:
                await self._hand_on(scope, state.pop("operated_by"), 500, bytes(body), None)

    async def _hand_on(self, scope: Scope, by: str, status: int, body: bytes, made: str | None) -> None:
        query = scope["query_string"].decode("latin-1")
        act = Act(
            id=secrets.token_hex(8),
            at=datetime.now(UTC),
            party=self._party,
            by=by,
            address=(scope.get("client") or ("",))[0],
            method=scope["method"],
            path=(scope["path"] + (f"?{query}" if query else ""))[:LONGEST],
            status=status,
            change=self._change(scope["path"], body),
            made=made,
        )
        # Without names: those of runs' keys would tell readers of the log which requests are a run's.
        resource = "/".join(act.path.partition("?")[0].split("/")[:3])
        log.info(
            "the operator acted: %s", act.model_copy(update={"path": resource}).model_dump_json(exclude=NAMES)
        )
        try:
            await self._note(act)
        except (LeakrangeError, OSError) as error:  # it is in the log of the process all the same
            log.error("the act %s could not be stored: %s", act.id, error)

    def _change(self, path: str, body: bytes) -> dict[str, Any] | None:
        shown = self._shown.get(path.split("/")[2] if path.count("/") > 1 else "", frozenset())
        if not shown or not body or len(body) > LONGEST:
            return None
        try:
            given = orjson.loads(body)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(given, dict):
            return None
        return {name: given[name] for name in sorted(shown & given.keys())}
