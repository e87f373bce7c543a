"""Answers of a provider that come before its answer (1xx): a few are taken, and no more.

aiohttp reads on after each of them without giving way to anything else. A provider that never stops sending
them would hold up all clients of the proxy, past every time limit.
"""

from __future__ import annotations

from typing import Any

import aiohttp
from aiohttp.connector import Connection

MOST = 8


class PatientResponse(aiohttp.ClientResponse):
    """For a session's ``response_class``; raises `aiohttp.ClientPayloadError` after `MOST` of them."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head of the answer."""
        protocol: Any = connection.protocol
        read, seen = protocol.read, 0

        async def counted() -> Any:
            nonlocal seen
            seen += 1
            if seen > MOST + 1:
                raise aiohttp.ClientPayloadError(f"more than {MOST} interim answers")
            return await read()

        protocol.read = counted
        try:
            return await super().start(connection)
        finally:
            del protocol.read  # the connection is used again
