"""A small server of the native API that counts what is asked of it, gives out files, and fails or waits when
it is told to."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from leakrange.wire.tensors import NPY, decode_npy, encode_npy

WIDTH = 6


def answers(images: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What it says of images: a fixed linear map of the pixels; of pairs (B, 2, H, W, C), one number each."""
    if images.ndim == 5:
        return (answers(images[:, 0]) - 2 * answers(images[:, 1]))[:, :1]
    flat = images.reshape(len(images), -1) / 255.0
    weights = np.random.default_rng(3).normal(size=(flat.shape[1], WIDTH))
    return (flat @ weights).astype(np.float32)


class Upstream:
    """Raw ASGI. ``statuses`` are answered first, one a request; while ``hold`` is on, requests wait.

    A GET answers what ``files`` has of its path, and is listed in ``fetched`` alone.
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.fetched: list[str] = []
        self.requests: list[dict[str, str]] = []
        self.images: list[NDArray[np.uint8]] = []
        self.answered: list[str | None] = []
        self.statuses: list[int] = []
        self._come = threading.Condition()
        self._go = threading.Event()
        self._go.set()

    def hold(self) -> None:
        """Let requests wait from now on."""
        self._go.clear()

    def release(self) -> None:
        """Answer the waiting ones, and those to come."""
        self._go.set()

    def wait_for_requests(self, count: int, seconds: float = 30.0) -> None:
        """Until so many requests have come."""
        with self._come:
            assert self._come.wait_for(lambda: len(self.requests) >= count, seconds), self.requests

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body, more = b"", True
        while more:
            message = await receive()
            body += message.get("body", b"")
            more = message.get("more_body", False)
        headers = {name.decode(): value.decode() for name, value in scope["headers"]}
        if scope["method"] == "GET":
            self.fetched.append(scope["path"])
            await _answer(send, 200, "application/octet-stream", self.files[scope["path"]])
            return
        images = decode_npy(body)
        with self._come:
            self.requests.append(headers | {"path": scope["path"]})
            self.images.append(images)
            status = self.statuses.pop(0) if self.statuses else 200
            self._come.notify_all()
        await asyncio.to_thread(self._go.wait)
        if status == 200:
            media, content = NPY, encode_npy(answers(images))
            self.answered.append(headers.get("idempotency-key"))
        else:
            media = "application/problem+json"
            content = orjson.dumps({"title": "on demand", "detail": f"told to say {status}"})
        await _answer(send, status, media, content)


async def _answer(send: Any, status: int, media: str, content: bytes) -> None:
    raw = [(b"content-type", media.encode()), (b"content-length", str(len(content)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": content})
