"""A wire tap between an edge client and its provider, and a search for what must not pass it."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httptools
import numpy as np
import orjson
from numpy.typing import NDArray


@dataclass
class Request:
    """One request as it passed."""

    method: str = ""
    target: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class _Parser:
    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.parser = httptools.HttpRequestParser(self)

    def on_message_begin(self) -> None:
        self.requests.append(Request())

    def on_url(self, url: bytes) -> None:
        self.requests[-1].target += url.decode()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.requests[-1].headers[name.decode().lower()] = value.decode()

    def on_body(self, body: bytes) -> None:
        self.requests[-1].body += body

    def on_message_complete(self) -> None:
        self.requests[-1].method = self.parser.get_method().decode()


class Tap:
    """Notes every byte that clients send; ``url`` is where they are to connect."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = ""
        self.streams: list[bytearray] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.tasks: list[asyncio.Task[None]] = []

    @property
    def sent(self) -> bytes:
        """Every byte that was sent, of all connections."""
        return b"\n".join(map(bytes, self.streams))

    def requests(self) -> list[Request]:
        """All requests, parsed."""
        found: list[Request] = []
        for stream in self.streams:
            parser = _Parser()
            parser.parser.feed_data(bytes(stream))
            found += parser.requests
        return found

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.tasks.append(asyncio.create_task(self.handle(reader, writer)))

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        noted = bytearray()
        self.streams.append(noted)
        there, back = await asyncio.open_connection("127.0.0.1", self.port)

        self.writers += [back, writer]

        async def pump(
            source: asyncio.StreamReader, sink: asyncio.StreamWriter, note: bytearray | None
        ) -> None:
            try:
                while data := await source.read(65536):
                    if note is not None:
                        note.extend(data)
                    sink.write(data)
                    await sink.drain()
            except ConnectionError:
                pass
            finally:
                sink.close()

        await asyncio.gather(pump(reader, back, noted), pump(there, writer, None))


@contextmanager
def tapping(url: str) -> Iterator[Tap]:
    """A tap before the server at ``url``."""
    tap = Tap(int(url.rsplit(":", 1)[1]))
    ready = threading.Event()
    ending: list[Callable[[], object]] = []

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        ending.append(lambda: loop.call_soon_threadsafe(stop.set))
        server = await asyncio.start_server(tap.accept, "127.0.0.1", 0)
        tap.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        await stop.wait()
        server.close()
        for writer in tap.writers:
            writer.close()
        await asyncio.gather(*tap.tasks)

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert ready.wait(30)
    try:
        yield tap
    finally:
        ending[0]()
        thread.join(30)


WINDOW = 8
"""Neighbouring numbers that are looked for."""


def leaks(sent: bytes, secrets: Mapping[str, NDArray[Any]]) -> list[str]:
    """Names of those arrays (B, ...) of which a sample is in ``sent``, in any plain form.

    Of up to twenty samples, those ``WINDOW`` neighbouring numbers are looked for that differ most: a
    picture's blank margin is no secret. One-dimensional arrays are looked for as a whole.
    """
    return [name for name, array in secrets.items() if any(form in sent for form in _forms_of(array))]


def pictures(images: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Images (B, H, W, C) as bytes and as nets take them, channels last and first."""
    scaled: dict[str, NDArray[Any]] = {"0..255": images}
    for dtype in (np.float32, np.float64):  # they round differently
        floats: NDArray[Any] = images.astype(dtype)
        scaled |= {f"{dtype.__name__} 0..1": floats / 255, f"{dtype.__name__} -1..1": floats / 127.5 - 1}
    found = {f"images as {scale}": form for scale, form in scaled.items()}
    found |= {
        f"images as {scale}, channels first": form.transpose(0, 3, 1, 2) for scale, form in scaled.items()
    }
    return found


def _forms_of(array: NDArray[Any]) -> Iterator[bytes]:
    samples = array.reshape(1, -1) if array.ndim == 1 else array.reshape(len(array), -1)
    for sample in samples[:: max(1, len(samples) // 20)]:
        starts = range(0, max(1, len(sample) - WINDOW + 1), WINDOW // 2)
        varied = max(starts, key=lambda start: len(set(sample[start : start + WINDOW].tolist())))
        yield from _forms(sample[varied : varied + WINDOW])


def _forms(window: NDArray[Any]) -> Iterator[bytes]:
    whole = window.dtype.kind in "iu"
    for dtype in ("u1", "<i2", "<i4", "<i8", ">i4") if whole else ():
        yield window.astype(dtype).tobytes()
        yield from _base64(window.astype(dtype).tobytes())
    for dtype in ("<f2", "<f4", "<f8", ">f4"):
        yield window.astype(dtype).tobytes()
        yield from _base64(window.astype(dtype).tobytes())
    for values in (window.tolist(), window.astype(np.float32).astype(float).tolist()):
        for separator in (",", ", ", "],[", "], ["):
            yield separator.join(map(repr, values)).encode()
    written = orjson.dumps(window.astype(np.float32), option=orjson.OPT_SERIALIZE_NUMPY)
    yield written.strip(b"[]")
    yield written.strip(b"[]").replace(b",", b"],[")


def _base64(raw: bytes) -> Iterator[bytes]:
    """What is sure to appear wherever ``raw`` begins within the encoded bytes."""
    for shift in range(3):
        yield base64.b64encode(b"\0" * shift + raw)[4 if shift else 0 : -4]
