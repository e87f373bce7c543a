"""What stands around the proxy in `leakrange.load.bench.proxy`.

    python -m leakrange.load.bench.passing WHAT PORT [UPSTREAM]

``provider`` answers at once. ``bare`` is the least that passes a request on in Python: raw ASGI and aiohttp.
``fastapi`` does it as proxies of LiteLLM's kind do, with FastAPI and httpx, one client for all requests.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpx
import numpy as np
import orjson
import uvicorn
from fastapi import FastAPI, Request, Response

from leakrange.load.bench.raw import answer, whole_body
from leakrange.service.hosts import HostGuard
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import JSON, NPY, encode_npy, npy_header

CLASSES = 10
PASSED_ON = ("accept", "content-type", "authorization")


async def provider(scope: Any, receive: Any, send: Any) -> None:
    """Softmax of as many samples as the npy body holds, made beforehand."""
    if scope["type"] != "http":
        return
    body = await whole_body(receive)
    headers = dict(scope["headers"])
    media, status = headers.get(b"accept", b"").decode(), 200
    if scope["method"] == "GET":
        media, content = JSON, _CARD
    elif headers.get(b"content-type") == NPY.encode():
        media, content = _answer(npy_header(body)[0][0], media)
    else:
        status, media, content = 415, JSON, b"{}"
    await answer(send, status, media, content)


_ANSWERS: dict[tuple[int, str], bytes] = {}
_CARD = orjson.dumps(
    {
        "name": "bench",
        "version": "1",
        "sha256": "0" * 64,
        "task": "digit",
        "classes": [str(i) for i in range(CLASSES)],
        "input": SampleSpec.picture(16, 16, 1).model_dump(mode="json"),
        "releases": ["softmax"],
        "default_release": "softmax",
        "features": 1,
        "max_batch": 256,
        "parameters": 0,
    }
)


def _answer(samples: int, media: str) -> tuple[str, bytes]:
    if (samples, media) not in _ANSWERS:
        values = np.random.default_rng(0).dirichlet(np.ones(CLASSES), samples).astype(np.float32)
        described = {"model": "bench", "version": "1", "release": "softmax", "values": values}
        _ANSWERS[samples, media] = (
            encode_npy(values) if media == NPY else orjson.dumps(described, option=orjson.OPT_SERIALIZE_NUMPY)
        )
    return media, _ANSWERS[samples, media]


class Bare:
    """Raw ASGI and aiohttp: the least cost of such a proxy."""

    def __init__(self, upstream: str) -> None:
        self._upstream = upstream
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass one request on."""
        if scope["type"] != "http":
            return
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=256)
            self._session = aiohttp.ClientSession(connector=connector, cookie_jar=aiohttp.DummyCookieJar())
        body = await whole_body(receive)
        sent = dict(scope["headers"])
        headers = {name: sent[name.encode()].decode() for name in PASSED_ON if name.encode() in sent}
        url = self._upstream + scope["path"]
        async with self._session.request(scope["method"], url, data=body, headers=headers) as reply:
            content = await reply.read()
        await answer(send, reply.status, reply.headers["Content-Type"], content)


def with_httpx(upstream: str) -> FastAPI:
    """FastAPI and httpx."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with httpx.AsyncClient(base_url=upstream, limits=httpx.Limits(max_connections=256)) as client:
            app.state.client = client
            yield

    app = FastAPI(lifespan=lifespan)

    @app.post("/{path:path}")
    async def passed_on(path: str, request: Request) -> Response:
        headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
        reply = await app.state.client.post(f"/{path}", content=await request.body(), headers=headers)
        return Response(reply.content, reply.status_code, media_type=reply.headers["content-type"])

    return app


def guarded() -> Any:
    """Our proxy with the guards of its own server, for another server; settings from the environment."""
    from leakrange.service.logs import configure_logs
    from leakrange.services.proxy.main import proxy
    from leakrange.services.proxy.settings import ProxySettings

    settings = ProxySettings()
    configure_logs("proxy", settings.log_level)
    return HostGuard(proxy(settings), [settings.host])


def main() -> None:
    """Serve."""
    name, port, *upstream = sys.argv[1:]
    app: Any = provider
    if name != "provider":
        app = {"bare": Bare, "fastapi": with_httpx}[name](*upstream)
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(port),
        log_level="error",
        access_log=False,
        proxy_headers=False,
        loop="uvloop",
        ws="none",
    )


if __name__ == "__main__":
    main()
