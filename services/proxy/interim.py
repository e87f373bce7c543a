"""Answers of a provider that come before its answer (1xx): a few are taken, and no more.

aiohttp reads on after each of them without giving way to anything else. A provider that never stops sending
them would hold up all clients of the proxy, past every time limit.
"""

from __future__ import annotations

from typing import Any

import aiohttp
from aiohttp.connector import Connection

__all__ = ["MOST_INTERIM", "PatientResponse"]

MOST_INTERIM = 8
"""For all answers of providers, by whichever client they are asked."""


class PatientResponse(aiohttp.ClientResponse):
    """For a session's ``response_class``; after `MOST_INTERIM` of them it raises
    `aiohttp.ClientPayloadError`."""

    async def start(self, connection: Connection) -> aiohttp.ClientResponse:
        """Read the head of the answer."""
        protocol: Any = connection.protocol
        read, seen = protocol.read, 0

        async def counted() -> Any:
            nonlocal seen
            seen += 1
            if seen > MOST_INTERIM + 1:
                raise aiohttp.ClientPayloadError(f"more than {MOST_INTERIM} interim answers")
            return await read()

        protocol.read = counted
        try:
            return await super().start(connection)
        finally:
            del protocol.read  # the connection is used again
