"""The controller's side: passes requests on to the process that reads for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from dataclasses import asdict
from urllib.parse import urlencode

import aiohttp
import orjson
from fastapi import Request, Response
from fastapi.responses import StreamingResponse

from leakrange.services.controller.beside import Beside
from leakrange.services.controller.settings import ControllerSettings
from leakrange.services.controller.turns import Turns
from leakrange.services.controller.visitors import Visitor, reader
from leakrange.wire.answers import Answer, raise_problem
from leakrange.wire.errors import Unavailable
from leakrange.wire.views import LessonStep

__all__ = ["VISITOR", "ReadingProcess"]

VISITOR = "x-leakrange-visitor"
"""The header that says who the visitor is: used over the socket between the two processes only."""
VIEWERS, OPERATORS = 6, 3
"""The number of reads that go on at once. Viewers cannot take the turns of operators."""
LONGEST = 120.0
"""The time limit of one read, in seconds; then the process is begun again, since nothing else would end
it."""
_HOPS = frozenset({"connection", "keep-alive", "transfer-encoding", "date", "server", "content-length"})
_WITHHELD = _HOPS | {"authorization", "cookie"}


class ReadingProcess:
    """One per controller. Make it inside the running event loop."""

    def __init__(self, settings: ControllerSettings) -> None:
        self.beside = Beside("leakrange.services.controller.reads", settings.handed_on())
        self._session = aiohttp.ClientSession(
            # Each read has a connection of its own: none is used that a process has left.
            connector=aiohttp.UnixConnector(self.beside.place, limit=0, force_close=True),
            timeout=aiohttp.ClientTimeout(total=None),
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
        )
        # A read that ended the process would else be sent again, and end the next one too.
        self._session._retry_connection = False
        busy = "too many look at what runs found"
        self._viewers, self._operators = Turns(VIEWERS, busy), Turns(OPERATORS, busy)

    async def answer(self, request: Request) -> Response:
        """The answer of the process. Raises the errors that it reports, and `Unavailable` if it is too busy
        or dies."""
        visitor = reader(request)
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        headers = {name: value for name, value in request.headers.items() if name not in _WITHHELD}
        got = await self._asked(request.method, path, visitor, headers, await request.body())
        passed = {name: value for name, value in got.headers.items() if name.lower() not in _HOPS}
        return StreamingResponse(_pieces(got), got.status, passed)

    async def read(self, path: str, visitor: Visitor, body: bytes | None = None) -> bytes:
        """What the process has at that path, or answers to a JSON ``body``. Raises as `answer` does."""
        asked = ("GET", None) if body is None else ("POST", {"content-type": "application/json"})
        got = await self._asked(asked[0], path, visitor, asked[1], body)
        return await got.read()

    async def sentences(self, run: str, visitor: Visitor) -> list[str]:
        """The first sentence of the report of a run, and the recommendation. Raises as `answer` does."""
        sentences: list[str] = orjson.loads(await self.read(f"/runs/{run}/sentences", visitor))
        return sentences

    async def lesson(self, run: str, provider: str, visitor: Visitor) -> list[LessonStep]:
        """What a run found about a provider, step by step. Raises as `answer` does."""
        read = await self.read(f"/runs/{run}/lesson?{urlencode({'provider': provider})}", visitor)
        return [LessonStep(**each) for each in orjson.loads(read)]

    async def stop(self) -> None:
        """End the process."""
        await self._session.close()
        await self.beside.close()

    async def _asked(
        self,
        method: str,
        path: str,
        visitor: Visitor,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
    ) -> aiohttp.ClientResponse:
        sent = {**(headers or {}), VISITOR: orjson.dumps(asdict(visitor)).decode()}
        turns = self._operators if visitor.role == "operator" else self._viewers
        async with turns.turn():
            asking = self._session.request(method, f"http://beside{path}", data=body, headers=sent)
            try:
                async with asyncio.timeout(LONGEST):
                    got = await self.beside.answered(_headed(asking))
            except TimeoutError as error:
                await self.beside.end()
                raise Unavailable(
                    f"this takes longer than {LONGEST:.0f} s", hint="narrow it to fewer providers or attacks"
                ) from error
            except (aiohttp.ClientError, OSError) as error:
                raise Unavailable(
                    "the process that was to read this has ended",
                    hint="ask again; where that ends it as well, raise LEAKRANGE_READING_MEMORY",
                ) from error
        return got


async def _headed(asking: Awaitable[aiohttp.ClientResponse]) -> aiohttp.ClientResponse:
    """The answer without its body; raises the problem that it is, and `ConnectionError` without one."""
    try:
        got = await asking
    except aiohttp.ClientError as error:
        raise ConnectionError(str(error)) from error
    if got.status >= 400:
        names = {name.lower(): value for name, value in got.headers.items()}
        raise_problem(Answer(got.status, names, await got.read()))
    return got


async def _pieces(got: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
    async with got:
        async for piece in got.content.iter_any():
            yield piece
