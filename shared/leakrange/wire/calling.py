"""Makes one HTTP call: raises the error that a problem answer describes, and retries temporary failures."""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass
from typing import Any

import orjson

from leakrange import tracing
from leakrange.wire.answers import Answer, raise_problem
from leakrange.wire.errors import InFlight, InvalidInput, LeakrangeError
from leakrange.wire.tensors import JSON
from leakrange.wire.transport import Transport

__all__ = ["RETRIED", "Tries", "call"]

_SENDABLE = re.compile(r"[!-~]+")
RETRIED = (409, 502, 503)
"""In flight, upstream failed, unavailable: the same request may succeed later, and cost nothing so far."""
HELD_OVER = 5.0
"""Seconds for which a request is still taken to be in flight after it should be over: clocks differ, and
answers take a while."""


@dataclass(frozen=True)
class Tries:
    """Counts the attempts of one request.

    A repeat that finds its own first attempt in flight does not count: a server that died may block it for
    longer than any sensible number of attempts.
    """

    failed: int = 0
    until: float | None = None
    """The Unix time by which the try in flight is over; None where no such try is known."""

    def after(self, error: Exception, most: int) -> Tries | None:
        """Return the count after a temporary failure with ``error``; None if that was the last of ``most``
        attempts."""
        if isinstance(error, InFlight) and most > 1:
            now = time.time()
            until = now + error.held + HELD_OVER if self.until is None else self.until
            if now < until:
                return Tries(self.failed, until)
        failed = self.failed + 1
        return Tries(failed) if failed < most else None


async def call(
    transport: Transport,
    method: str,
    url: str,
    *,
    key: str | None = None,
    json: Any = None,
    body: bytes | None = None,
    headers: dict[str, str] | None = None,
    attempts: int = 1,
) -> Answer:
    """Send a request; raise the error that a problem answer describes. 409, 502, 503 and unreachable servers
    are tried ``attempts`` times. If that is more than once, requests in flight are waited for as well (see
    `Tries`).

    Waits as ``Retry-After`` says (1 s if nobody answers), or doubling from 0.1 s, whichever is more; at most
    5 s.
    """
    sent = {"Accept": JSON, **(headers or {})}
    if key is not None:
        if not _SENDABLE.fullmatch(key):
            raise InvalidInput(
                "an API key is printable ASCII without blanks", hint="check the key for a stray line end"
            )
        sent["Authorization"] = f"Bearer {key}"
    if json is not None:
        body = orjson.dumps(json)
        sent["Content-Type"] = JSON
    tries, pause = Tries(), 0.1
    with tracing.call(method, url) as traced:
        sent.update(traced)
        while True:
            try:
                answer = await transport.send(method, url, sent, body)
                raise_problem(answer)
                return answer
            except LeakrangeError as error:
                again = tries.after(error, attempts) if error.status in RETRIED else None
                if again is None:
                    raise
                await asyncio.sleep(min(5.0, max(pause, error.retry_after or 0.0)))
                tries, pause = again, min(5.0, pause * 2)
