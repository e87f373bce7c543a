"""Limits on request bodies, and answers that are sent before a body was read."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from leakrange.wire.errors import BodyTooLarge, InvalidInput, LeakrangeError
from leakrange.wire.problems import send_problem

__all__ = ["CLOSE", "SMALL_BODY", "Bodies", "Lingering", "has_body", "refuse_early", "switches_protocol"]

SMALL_BODY = 1_048_576
"""The most bytes of a body that is not for a model. The framework parses it before the key is checked."""


class Bodies:
    """Applies the same rules to the request bodies of all servers.

    Under ``/v1/models/`` a body may have ``limit`` bytes, elsewhere `SMALL_BODY`. Larger ones are refused
    at once by their declared length, else when they pass the limit. A request to switch protocols is
    refused, because its body would not reach the application. An answer that is sent before the body has
    arrived is protected from being lost with the connection (`Lingering`).
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.app, self.limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one ASGI request."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = dict(scope["headers"])
        if (upgrade := switches_protocol(headers)) is not None:
            return await send_problem(upgrade, scope, receive, send)
        if not has_body(headers):
            return await self.app(scope, receive, send)
        large = scope["path"].startswith("/v1/models/")
        limit = self.limit if large else min(self.limit, SMALL_BODY)
        too_large = BodyTooLarge(f"a request body may have {limit} bytes", headers=dict(CLOSE))
        declared = headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared) > limit:
            return await refuse_early(too_large, scope, receive, send)
        seen = 0
        started = False
        lingering = Lingering(receive, send)

        async def limited() -> Message:
            nonlocal seen
            message = await lingering.receive()
            seen += len(message.get("body", b""))
            if seen > limit:
                raise too_large
            return message

        async def watched(message: Message) -> None:
            nonlocal started
            if seen > limit and not started:
                return  # the framework's own answer to our exception, which it takes for a broken body
            started = True
            await lingering.send(message)

        with contextlib.suppress(BodyTooLarge):
            await self.app(scope, limited, watched)
        if seen > limit and not started:
            await refuse_early(too_large, scope, receive, send)


CLOSE: Mapping[str, str] = {"Connection": "close"}
"""Sent with an answer after which the rest of a body would be taken for the next request."""


def has_body(headers: Mapping[bytes, bytes]) -> bool:
    """Whether a request with these headers (lower case) has a body."""
    return headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers


def switches_protocol(headers: Mapping[bytes, bytes]) -> LeakrangeError | None:
    """Return the refusal of a request for another protocol. The HTTP server does not support it and would
    take the rest of the request for that protocol instead of for the body."""
    if b"upgrade" not in headers or b"upgrade" not in headers.get(b"connection", b"").lower():
        return None
    return InvalidInput(
        "this server switches to no other protocol", hint="leave out the header Upgrade", headers=dict(CLOSE)
    )


class Lingering:
    """The ``receive`` and ``send`` of a request whose answer may be sent before its body was read.

    Closing a connection with unread bytes resets it, and the reset can overtake the answer. So the whole
    answer is sent first, and what the client still sends is discarded for a while, until it hangs up.
    """

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive, self._send, self._unread = receive, send, True

    async def receive(self) -> Message:
        """The next message of the request."""
        message = await self._receive()
        self._unread = message.get("more_body", False)
        return message

    async def send(self, message: Message) -> None:
        """Pass a message on; before the end of the answer, discard what has not been read."""
        if message["type"] != "http.response.body" or message.get("more_body", False) or not self._unread:
            return await self._send(message)
        await self._send({**message, "more_body": True})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LINGER):
                while self._unread:
                    await self.receive()
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})


LINGER = 2.0
"""Seconds for which the rest of a refused body is thrown away."""


async def refuse_early(error: LeakrangeError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer before the body has arrived, then close."""
    lingering = Lingering(receive, send)
    await send_problem(error, scope, lingering.receive, lingering.send)
