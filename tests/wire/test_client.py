"""One contract for both transports: every test runs over httpx and over aiohttp, against real sockets."""

from __future__ import annotations

import asyncio
import gzip
import socket
import time
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest
import uvicorn
from fastapi import FastAPI, Request, Response

from leakrange.defences.output import InvalidChain
from leakrange.service.app import create_app
from leakrange.wire import transport as transports
from leakrange.wire.calling import HELD_OVER, Tries
from leakrange.wire.client import NativeClient, call
from leakrange.wire.errors import (
    LONGEST_HELD,
    BudgetExhausted,
    Conflict,
    InFlight,
    InvalidInput,
    InvalidScenario,
    LeakrangeError,
    Unavailable,
    UnknownModel,
    UpstreamFailed,
)
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import ModelCard
from leakrange.wire.tensors import decode_npy, encode_npy
from leakrange.wire.transport import AiohttpTransport, HttpxTransport, Received, Transport
from tests.reading import decode_samples
from tests.serving import serving

SPEC = SampleSpec.picture(2, 2, 1)
CARD = ModelCard(
    name="m",
    version="v1",
    sha256="0" * 64,
    task="parity",
    classes=["even", "odd"],
    input=SPEC,
    releases=["logits"],
    default_release="logits",
    features=4,
    max_batch=4,
    parameters=1,
)


def fake_provider(seen: list[dict[str, Any]]) -> FastAPI:
    """Speaks the native API, counts what it saw, and has models that misbehave in one way each."""
    app = create_app("fake", max_body=100_000)
    app.state.failures = 0

    @app.get("/v1/models")
    async def models() -> Any:
        return {"models": [CARD.model_dump(mode="json")]}

    @app.get("/v1/models/{model}")
    async def card(model: str) -> Any:
        if model == "absent":
            raise UnknownModel("no model 'absent'", asked="absent")
        return {"name": "half a card"} if model == "nonsense" else CARD.model_dump(mode="json")

    @app.get("/v1/models/{model}/artifact")
    async def artifact(model: str) -> Response:
        return Response(bytes(range(256)) * 1000, media_type="application/octet-stream")

    @app.post("/v1/models/{model}/outputs")
    @app.post("/v1/models/{model}/logits")
    async def answer(model: str, request: Request) -> Response:
        body = await request.body()
        seen.append({"path": request.url.path, "headers": dict(request.headers), "body": body})
        if model == "flaky" and app.state.failures < 2:
            app.state.failures += 1
            raise Unavailable("full", retry_after=0.4)
        if model == "spent":
            raise BudgetExhausted("no samples left", remaining=3, headers={"Retry-After": "7"})
        if model == "redirect":
            return Response(status_code=307, headers={"Location": "/v1/models/m/logits"})
        if model == "odd-status":
            return Response(b"<h1>I am a teapot</h1>", 418, media_type="text/html")
        if model == "nonsense":
            return Response(b"<html>welcome to the hotel</html>", media_type="text/html")
        if model == "short":
            return Response(encode_npy(np.zeros((1, 2), np.float32)), media_type="application/x-npy")
        if model == "nan":
            return Response(encode_npy(np.full((2, 2), np.nan)), media_type="application/x-npy")
        if request.url.path.endswith("outputs"):
            decisions = decode_npy(body).argmax(axis=1).tolist()
            return Response(orjson.dumps({"model": model, "version": "v1", "decisions": decisions}))
        images = decode_samples(request.headers["content-type"], body, spec=SPEC, most=256)
        values = images.reshape(len(images), -1)[:, :2].astype(np.float32) / 2
        packed = gzip.compress(encode_npy(values))
        headers = {"Content-Encoding": "gzip"}
        return Response(packed, media_type="application/x-npy", headers=headers)

    @app.get("/broken-gzip")
    async def broken_gzip() -> Response:
        return Response(b"not gzip", headers={"Content-Encoding": "gzip"})

    @app.get("/scenario")
    async def scenario() -> None:
        raise InvalidScenario([{"line": 3, "message": "no"}])

    @app.get("/chain")
    async def chain() -> None:
        raise InvalidChain([{"path": [0], "message": "no", "allowed": []}])

    return app


seen: list[dict[str, Any]] = []


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(fake_provider(seen)) as address:
        yield address


TRANSPORTS: list[type[HttpxTransport] | type[AiohttpTransport]] = [HttpxTransport, AiohttpTransport]


@pytest.fixture(params=TRANSPORTS)
async def transport(request: pytest.FixtureRequest) -> AsyncIterator[Transport]:
    seen.clear()
    made: Transport = request.param(timeout=10.0)
    yield made
    await made.close()


@pytest.fixture
def client(transport: Transport, url: str) -> NativeClient:
    return NativeClient(transport, url + "/", "lr_key")


async def test_the_native_api_is_spoken(client: NativeClient) -> None:
    assert await client.models() == [CARD]
    assert await client.card("m") == CARD
    assert await client.artifact("m") == bytes(range(256)) * 1000
    images = np.arange(16, dtype=np.uint8).reshape(4, 2, 2, 1)
    values = await client.query("m", "logits", images, idempotency_key="chunk-1")
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, images.reshape(4, 4)[:, :2] / np.float32(2))
    assert await client.upload("m", "softmax", values, idempotency_key="chunk-2") == [1, 1, 1, 1]
    query, upload = seen
    assert query["headers"]["authorization"] == upload["headers"]["authorization"] == "Bearer lr_key"
    assert query["headers"]["idempotency-key"] == "chunk-1"
    assert query["headers"]["content-type"] == upload["headers"]["content-type"] == "application/x-npy"
    assert query["headers"]["accept"] == "application/x-npy"
    assert upload["headers"]["idempotency-key"] == "chunk-2"
    assert upload["headers"]["x-release"] == "softmax"
    np.testing.assert_array_equal(decode_npy(upload["body"]), values)


async def test_a_provider_without_a_proxy_is_asked_without_a_key(transport: Transport, url: str) -> None:
    await NativeClient(transport, url).upload("m", "logits", np.zeros((1, 2), np.float32))
    assert "authorization" not in seen[0]["headers"]
    assert "idempotency-key" not in seen[0]["headers"]


async def test_problems_are_raised_as_the_errors_that_they_describe(client: NativeClient) -> None:
    with pytest.raises(UnknownModel) as unknown:
        await client.card("absent")
    assert unknown.value.detail == "no model 'absent'"
    assert unknown.value.hint == "'leakrange routes list' lists the models that a range serves"
    assert unknown.value.extra == {"asked": "absent"}
    with pytest.raises(BudgetExhausted) as spent:
        await client.upload("spent", "logits", np.zeros((1, 2), np.float32))
    assert (spent.value.extra, spent.value.retry_after) == ({"remaining": 3}, 7.0)
    assert spent.value.headers["Retry-After"] == "7"


async def test_errors_with_constructors_of_their_own_are_raised_too(transport: Transport, url: str) -> None:
    with pytest.raises(InvalidScenario, match="1 mistake in the scenario") as scenario:
        await call(transport, "GET", url + "/scenario")
    assert scenario.value.mistakes == [{"line": 3, "message": "no"}]
    with pytest.raises(InvalidChain) as chain:
        await call(transport, "GET", url + "/chain")
    assert chain.value.mistakes == [{"path": [0], "message": "no", "allowed": []}]
    assert chain.value.status == 422


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("redirect", "307"),
        ("odd-status", "HTTP 418"),
        ("nonsense", "cannot be used"),
        ("short", "1 of 2"),
        ("nan", "finite"),
    ],
)
async def test_nonsense_is_the_servers_failure(client: NativeClient, model: str, said: str) -> None:
    with pytest.raises(UpstreamFailed, match=said):
        await client.query(model, "logits", np.zeros((2, 2, 2, 1), np.uint8))
    assert len(seen) == 1


async def test_a_card_or_a_decision_that_is_none_is_the_servers_failure(client: NativeClient) -> None:
    with pytest.raises(UpstreamFailed, match="native API"):
        await client.card("nonsense")
    with pytest.raises(UpstreamFailed, match="native API"):
        await client.upload("nonsense", "logits", np.zeros((2, 2), np.float32))


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, which are noted and not waited."""
    noted: list[float] = []

    async def note(seconds: float) -> None:
        noted.append(seconds)

    monkeypatch.setattr("leakrange.wire.calling.asyncio", SimpleNamespace(sleep=note))
    return noted


async def test_what_may_succeed_later_is_tried_again(transport: Transport, pauses: list[float]) -> None:
    with serving(fake_provider(seen)) as url:
        client = NativeClient(transport, url, attempts=3)
        assert await client.upload("flaky", "logits", np.eye(2, dtype=np.float32)) == [0, 1]
    assert len(seen) == 3
    assert len({entry["body"] for entry in seen}) == 1
    assert pauses == [1.0, 1.0]  # Retry-After counts whole seconds


def test_what_is_in_flight_is_no_try_until_its_hold_is_over() -> None:
    """And no server can have a client wait for ever."""
    held = InFlight("", held=9)
    first = Tries().after(held, 2)
    assert first is not None
    assert first.until is not None
    assert first.failed == 0
    assert first.until == pytest.approx(time.time() + 9 + HELD_OVER, abs=5)
    assert first.after(held, 2) == first
    assert Tries(0, time.time() - 1).after(held, 2) == Tries(1)
    assert Tries(1, time.time() - 1).after(held, 2) is None
    assert first.after(Unavailable("down"), 2) == Tries(1)
    assert Tries().after(held, 1) is None
    assert [InFlight("", held=told).held for told in (1e12, -1)] == [LONGEST_HELD, 0]


async def test_what_will_not_change_is_not_tried_again(transport: Transport, url: str) -> None:
    client = NativeClient(transport, url, attempts=5)
    with pytest.raises(BudgetExhausted):
        await client.upload("spent", "logits", np.zeros((1, 2), np.float32))
    assert len(seen) == 1


async def test_a_server_that_is_not_there_is_unavailable(transport: Transport, pauses: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unavailable, match=f"http://127.0.0.1:{port}: ") as gone:
        await call(transport, "GET", f"http://127.0.0.1:{port}/secret-path", key="secret", attempts=3)
    assert "secret" not in str(gone.value.problem())
    assert pauses == [1.0, 1.0]


async def test_the_last_pauses_grow_no_longer_than_five_seconds(
    transport: Transport, pauses: list[float]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(Unavailable):
        await call(transport, "GET", f"http://127.0.0.1:{port}/", attempts=9)
    assert pauses == [1.0, 1.0, 1.0, 1.0, 1.6, 3.2, 5.0, 5.0]


async def talk(transport: Transport, answer: bytes, *, close: bool = True) -> None:
    """Send a request to a server that answers those very bytes."""
    done = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        if not close:
            await done.wait()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        await call(transport, "GET", f"http://127.0.0.1:{port}/")
    finally:
        done.set()
        server.close()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n\r\n",
    ],
)
async def test_a_server_that_breaks_off_or_speaks_no_http_is_unavailable(
    transport: Transport, answer: bytes
) -> None:
    with pytest.raises(Unavailable):
        await talk(transport, answer)


@pytest.mark.parametrize("kind", TRANSPORTS)
async def test_a_server_that_never_answers_is_unavailable(kind: Any) -> None:
    transport = kind(timeout=0.2)
    with pytest.raises(Unavailable):
        await talk(transport, b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", close=False)
    await transport.close()


async def test_a_connection_that_the_server_is_about_to_close_is_not_used_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    app = FastAPI()
    ports: list[int] = []

    @app.post("/")
    async def whence(request: Request) -> None:
        ports.append(request.scope["client"][1])

    idle = 0.0
    monkeypatch.setattr("aiohttp.connector.monotonic", lambda: time.monotonic() + idle)
    transport = AiohttpTransport()
    with serving(app) as url:
        await transport.send("POST", url, {}, b"")
        idle += 1.0
        await transport.send("POST", url, {}, b"")
        idle += uvicorn.Config(app).timeout_keep_alive - 0.5
        await transport.send("POST", url, {}, b"")
        await transport.close()
    kept, again, new = ports
    assert kept == again != new


async def test_an_answer_that_does_not_end_is_cut(
    transport: Transport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transports, "MAX_ANSWER", 100_000)
    body = b"x" * 200_000
    for head in (f"Content-Length: {len(body)}", "Connection: close"):
        with pytest.raises(UpstreamFailed, match="longer than"):
            await talk(transport, f"HTTP/1.1 200 OK\r\n{head}\r\n\r\n".encode() + body)
    packed = gzip.compress(body)
    assert len(packed) < 1000
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\n\r\n"
    with pytest.raises(UpstreamFailed, match="longer than"):
        await talk(transport, head.encode() + packed)


def bomb(size: int, *, layers: int = 1) -> bytes:
    """So many zeros, packed so many times."""
    body = bytes(size)
    for _ in range(layers):
        body = gzip.compress(body, 9)
    return body


@pytest.mark.parametrize(
    ("encoding", "layers", "reason"),
    [
        ("gzip", 1, "longer than"),
        ("gzip, gzip", 2, "not read"),
        ("br", 1, "not read"),
        ("zstd", 1, "not read"),
    ],
)
async def test_a_small_answer_that_unpacks_to_a_large_one_takes_no_memory(
    transport: Transport, monkeypatch: pytest.MonkeyPatch, encoding: str, layers: int, reason: str
) -> None:
    monkeypatch.setattr(transports, "MAX_ANSWER", 2**20)
    packed = bomb(300 * 2**20, layers=layers)
    assert len(packed) < 2**20
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: {len(packed)}\r\n\r\n"
    tracemalloc.start()
    try:
        with pytest.raises(UpstreamFailed, match=reason):
            await talk(transport, head.encode() + packed)
        assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity", ""])
def test_a_body_is_the_same_in_whichever_pieces_it_comes(encoding: str) -> None:
    body = bytes(range(256)) * 40
    packed = {"gzip": gzip.compress(body[:99]) + gzip.compress(body[99:]), "deflate": zlib.compress(body)}
    sent = packed.get(encoding, body)
    for size in (1, 7, 1000, len(sent)):
        received = Received(encoding or None, len(body), "a server")
        for start in range(0, len(sent), size):
            received.add(sent[start : start + size])
        assert received.whole() == body
    short = Received(encoding or None, len(body) - 1, "a server")
    with pytest.raises(UpstreamFailed, match="longer than"):
        short.add(sent)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_packed_body_that_is_cut_short_is_unavailable(encoding: str) -> None:
    packed = {"gzip": gzip.compress, "deflate": zlib.compress}[encoding](bytes(range(256)))
    received = Received(encoding, 1000, "a server")
    received.add(packed[:-1])
    with pytest.raises(Unavailable, match="cut short"):
        received.whole()


async def test_an_answer_that_cannot_be_unpacked_is_unavailable(transport: Transport, url: str) -> None:
    with pytest.raises(Unavailable):
        await call(transport, "GET", url + "/broken-gzip")


@pytest.mark.parametrize(
    "address",
    ["", "localhost:8000", "ftp://host/x", "http://", "http://[::1", "http://\x00", "/v1", "file:///etc"],
)
async def test_what_is_no_address_is_invalid(transport: Transport, address: str) -> None:
    with pytest.raises(InvalidInput):
        await call(transport, "GET", address, attempts=3)


@pytest.mark.parametrize("key", ["", "a b", "line\r\nX-Injected: 1", "schlüssel", "\0"])
async def test_a_key_that_no_header_can_hold_is_invalid(transport: Transport, url: str, key: str) -> None:
    with pytest.raises(InvalidInput, match="API key"):
        await call(transport, "GET", url + "/v1/models", key=key)


async def test_every_known_error_crosses_the_wire(transport: Transport) -> None:
    app = create_app("errors", max_body=1000)
    kinds: list[type[LeakrangeError]] = [LeakrangeError, *_below(LeakrangeError)]

    @app.get("/{number}")
    async def fail(number: int) -> None:
        error = kinds[number].__new__(kinds[number], "x")
        LeakrangeError.__init__(error, f"detail {number}", hint="do this")
        raise error

    with serving(app) as url:
        for number, kind in enumerate(kinds):
            with pytest.raises(kind) as caught:
                await call(transport, "GET", f"{url}/{number}")
            assert type(caught.value) is kind
            assert (caught.value.detail, caught.value.hint) == (f"detail {number}", "do this")
    assert Conflict in kinds


def _below(kind: type[LeakrangeError]) -> list[type[LeakrangeError]]:
    return [found for child in kind.__subclasses__() for found in (child, *_below(child))]


async def test_aiohttp_says_in_words_why_nobody_answers() -> None:
    transport = AiohttpTransport()
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # and does not listen
        place = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(Unavailable) as refused:
            await transport.send("GET", f"{place}/v1/models", {}, None)
    assert refused.value.detail == f"no answer from {place}: Connection refused"
    with pytest.raises(Unavailable) as unnamed:
        await transport.send("GET", "http://nobody.invalid/", {}, None)
    assert "no answer from http://nobody.invalid: " in unnamed.value.detail
    assert "ssl:" not in unnamed.value.detail
    await transport.close()
    assert transports.in_words(TimeoutError()) == "it took too long"
