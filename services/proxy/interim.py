"""Interim answers of a provider (1xx), which come before its answer: a few are accepted, and no more.

aiohttp reads on after each of them without yielding to anything else. A provider that never stops sending
them would block all clients of the proxy, past every time limit.
"""

from __future__ import annotations

from typing import Any

import aiohttp
from aiohttp.connector import Connection

__all__ = ["MOST_INTERIM", "PatientResponse"]

MOST_INTERIM = 8
"""Most interim answers to one request, whichever client asks the provider."""


class PatientResponse(aiohttp.ClientResponse):
    """A session's ``response_class`` that raises `aiohttp.ClientPayloadError` after `MOST_INTERIM` interim
    answers."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head of the answer."""
        protocol: Any = connection.protocol
        read, count = protocol.read, 0

        async def counted() -> Any:
            nonlocal count
            count += 1
            if count > MOST_INTERIM + 1:
                raise aiohttp.ClientPayloadError(f"more than {MOST_INTERIM} interim answers")
            return await read()

        protocol.read = counted
        try:
            return await super().start(connection)
        finally:
            del protocol.read  # the connection is used again
