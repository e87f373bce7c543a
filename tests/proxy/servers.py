"""Real servers for the tests: any ASGI application in a thread, and a provider with known outputs."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest
import uvicorn
from numpy.typing import NDArray
from pydantic import SecretStr

from leakrange.service.app import create_app
from leakrange.services.controller.obfuscators import router as obfuscators
from leakrange.services.proxy import addresses
from leakrange.wire.errors import LeakrangeError, NotFound
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import JSON, NPY, decode_npy, encode_npy, media_type, negotiate
from tests.reading import decode_pairs, decode_samples

SHAPE = (8, 8, 3)
CLASSES = 5
PICTURE = SampleSpec.picture(*SHAPE)
ROW = SampleSpec(encoding="table", shape=(3,), dtype="float32", columns=("age", "hours", "gain"))
"""What the model ``rows`` takes; all others take a `PICTURE`."""


@contextmanager
def serve(app: Any, port: int = 0, host: str = "127.0.0.1") -> Iterator[str]:
    """Run ``app`` on a free port until the block ends; gives its URL."""
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        ws="none",
        timeout_graceful_shutdown=1,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        if not thread.is_alive():
            raise RuntimeError("the server did not start")
        thread.join(0.005)
    try:
        yield f"http://{host}:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


NAME, HOSTS = "provider-of-the-tests", ("127.0.0.2", "127.0.0.3", "127.0.0.4")


def resolving(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that `NAME` stands for from now on, which may be changed; at first `HOSTS`."""
    meant, look_up = list(HOSTS), socket.getaddrinfo

    def resolve(host: Any, port: Any, *given: Any, **named: Any) -> Any:
        if host != NAME:
            return look_up(host, port, *given, **named)
        return [place for each in meant for place in look_up(each, port, *given, **named)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(addresses, "FRESH", 0.0)
    return meant


@contextmanager
def obfuscators_in(models: Path, operator: str) -> Iterator[str]:
    """The part of a controller that gives out the obfuscators in that folder; gives its URL."""
    app = create_app("controller", max_body=1024)
    app.state.settings = SimpleNamespace(operator_key=SecretStr(operator), models_dir=models)
    app.include_router(obfuscators)
    with serve(app) as url:
        yield url


def clean(endpoint: str, images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What the stub provider answers: a fixed linear map of the pixels, softmaxed where asked; of pairs
    (B, 2, H, W, C) how far the features are apart."""
    if endpoint == "verification":
        a, b = (clean("features", images[:, side]) for side in (0, 1))
        return np.asarray(np.linalg.norm(a - b, axis=1, keepdims=True), dtype=np.float32)
    width = 16 if endpoint == "features" else CLASSES
    weights = np.random.default_rng(7).normal(size=(images[0].size, width)) / 8
    raw = (images.reshape(len(images), -1) / 255.0) @ weights
    if endpoint in ("softmax", "recognition"):
        raw = np.exp(raw - raw.max(axis=1, keepdims=True))
        raw /= raw.sum(axis=1, keepdims=True)
    return raw.astype(np.float32)


class StubProvider:
    """A provider in raw ASGI; ``before`` may give a status or a whole answer instead of its own."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all requests, fail no more."""
        self.seen: list[tuple[str, dict[str, str], bytes]] = []
        self.before: Callable[[str], Awaitable[int | tuple[int, str, bytes] | None]] | None = None

    def data_requests(self) -> list[tuple[str, dict[str, str], bytes]]:
        """Requests that a client paid for."""
        return [each for each in self.seen if each[0].count("/") == 4 and not each[0].endswith("artifact")]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        self.seen.append((scope["path"], headers, body))
        told = await self.before(scope["path"]) if self.before else None
        if isinstance(told, int):
            status, media, content = told, "application/problem+json", b'{"title": "on demand"}'
        else:
            try:
                status, media, content = told or self._answer(scope["path"], headers, body)
            except LeakrangeError as error:
                status, media = error.status, "application/problem+json"
                content = orjson.dumps(error.problem())
        raw = [(b"content-type", media.encode()), (b"content-length", str(len(content)).encode())]
        raw.append((b"x-secret-debug", b"the clean logits"))
        await send({"type": "http.response.start", "status": status, "headers": raw})
        await send({"type": "http.response.body", "body": content})

    def _answer(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, str, bytes]:
        parts = path.split("/")[2:]
        if parts[0] == "operator":
            return 200, JSON, b'{"behaviour": "curious"}'
        if len(parts) == 2:
            return 200, JSON, orjson.dumps(card(parts[1]))
        model, endpoint = parts[1:3]
        if endpoint == "artifact":
            return 200, "application/octet-stream", b"safetensors" * 100_000
        if endpoint == "gallery":
            raise NotFound("the model does not verify people")
        if endpoint == "outputs":
            if media_type(headers["content-type"]) == NPY:
                values = decode_npy(body)
            else:
                values = np.array(orjson.loads(body)["values"])
            decisions = values.argmax(axis=1).tolist()
            return 200, JSON, orjson.dumps({"model": model, "version": "1", "decisions": decisions})
        decode = decode_pairs if endpoint == "verification" else decode_samples
        spec = ROW if model == "rows" else PICTURE
        images = decode(headers.get("content-type"), body, spec=spec, most=4096)
        values = clean(endpoint, images)
        if negotiate(headers.get("accept")) == NPY:
            return 200, NPY, encode_npy(values)
        told = {"model": model, "version": "1", "release": endpoint, "values": values, "debug": values}
        return 200, JSON, orjson.dumps(told, option=orjson.OPT_SERIALIZE_NUMPY)


def card(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "version": "1",
        "sha256": "0" * 64,
        "task": "digit",
        "classes": [str(i) for i in range(CLASSES)],
        "input": (ROW if name == "rows" else PICTURE).model_dump(mode="json"),
        "releases": ["logits", "softmax", "features"],
        "default_release": "logits",
        "features": 16,
        "max_batch": 256,
        "parameters": 960,
    }


class Gate:
    """Holds the provider's answers back until it is opened, from any thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened = threading.Event()
        self.waiting = threading.Semaphore(0)
        """Released once for each request that has come to the gate."""
        self._event: asyncio.Event | None = None

    async def __call__(self, path: str) -> None:
        if path.count("/") != 4:
            return
        if self._event is None:
            self._loop, self._event = asyncio.get_running_loop(), asyncio.Event()
        self.waiting.release()
        if not self._opened.is_set():
            await self._event.wait()

    def open(self) -> None:
        self._opened.set()
        if self._loop is not None and self._event is not None:
            self._loop.call_soon_threadsafe(self._event.set)
