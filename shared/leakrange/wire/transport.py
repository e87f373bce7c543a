"""How bytes get to a server: httpx for people and tests, aiohttp where it is hot. One small interface, so
they can be swapped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import aiohttp
import httpx

from leakrange.wire.errors import Unavailable

__all__ = ["AiohttpTransport", "Answer", "HttpxTransport", "Transport"]


@dataclass(frozen=True)
class Answer:
    """A complete HTTP answer; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


class Transport(Protocol):
    """Sends one request and gives the whole answer; a server that cannot be reached is `Unavailable`."""

    async def send(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Answer:
        """Send and wait for the whole answer."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class HttpxTransport:
    """For people, the CLI, the edge client, and tests over ASGI (``app``). Keep it to few connections."""

    def __init__(self, *, timeout: float = 30.0, app: Any = None) -> None:
        inner = httpx.ASGITransport(app=app) if app is not None else None
        self._client = httpx.AsyncClient(timeout=timeout, transport=inner)

    async def send(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Answer:
        """As of `Transport`."""
        try:
            answer = await self._client.request(method, url, headers=headers, content=body)
        except httpx.TransportError as error:
            raise Unavailable(
                f"no answer from {_place(url)}: {error or type(error).__name__}", hint="is the server up?"
            ) from error
        return Answer(answer.status_code, {k.lower(): v for k, v in answer.headers.items()}, answer.content)

    async def close(self) -> None:
        """As of `Transport`."""
        await self._client.aclose()


class AiohttpTransport:
    """For the fleet's probing: many connections at a tenth of the cost. Make it inside the running event
    loop."""

    def __init__(self, *, timeout: float = 30.0, connections: int = 64) -> None:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=connections),
            timeout=aiohttp.ClientTimeout(total=timeout),
        )

    async def send(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Answer:
        """As of `Transport`."""
        try:
            async with self._session.request(method, url, headers=headers, data=body) as answer:
                content = await answer.read()
                return Answer(answer.status, {k.lower(): v for k, v in answer.headers.items()}, content)
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            raise Unavailable(
                f"no answer from {_place(url)}: {error or type(error).__name__}", hint="is the server up?"
            ) from error

    async def close(self) -> None:
        """As of `Transport`."""
        await self._session.close()


def _place(url: str) -> str:
    parsed = httpx.URL(url)
    return f"{parsed.scheme}://{parsed.netloc.decode()}"
