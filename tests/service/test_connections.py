"""Clients that keep a server waiting, or hold too many connections, are no harm to the others."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import uvicorn

from leakrange.service.settings import ServiceSettings
from tests.serving import serving

GET = b"GET /plain HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
STREAM = b"GET /stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HALF_HEADER = b"GET /plain HTTP/1.1\r\nHost: 127.0.0.1\r\nX-"
HALF_BODY = b"POST /plain HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 10\r\n\r\n12345"
CHUNKED = (
    b"POST /plain HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n%s\r\n3\r\nabc\r\n0\r\n%s"
)
LAST_CHUNK = b"\r\n0\r\n\r\n"


class Served:
    """A small application, served as parties are, and a client of it on bare sockets."""

    def __init__(self) -> None:
        self.url = ""
        self.go_on = threading.Event()
        """Until it is set, streams do not end, and what is slow does not read."""
        self.reading = threading.Event()
        """Set as soon as what is slow has a request."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/slow":
            self.reading.set()
            await asyncio.to_thread(self.go_on.wait, 30)
        size, message = 0, {"type": "http.request", "more_body": True}
        while message.get("more_body", False):
            message = await receive()
            size += len(message.get("body", b""))
        if message["type"] == "http.disconnect":
            return
        said = scope["query_string"].replace(b"+", b"\r\nX-Smuggled: ").replace(b"~", b"\0")
        told = [(b"X-Told", b"plain" + said)]
        await send({"type": "http.response.start", "status": 200, "headers": told})
        if scope["path"] == "/stream":
            await send({"type": "http.response.body", "body": b"begin", "more_body": True})
            await asyncio.to_thread(self.go_on.wait, 30)
            await send({"type": "http.response.body", "body": b"end"})
            return
        headers = sorted([name.decode(), value.decode()] for name, value in scope["headers"])
        answer = json.dumps({"bytes": size, "headers": headers}).encode()
        await send({"type": "http.response.body", "body": answer})

    @contextlib.contextmanager
    def served(self, **changes: Any) -> Iterator[None]:
        settings = ServiceSettings(operator_key="0123456789abcdef-of-the-tests", **changes)
        with serving(self, settings) as self.url:
            try:
                yield
            finally:
                self.go_on.set()

    def connect(self, first: bytes = b"", source: str = "127.0.0.1") -> socket.socket:
        place = urlsplit(self.url)
        made = socket.create_connection((place.hostname, place.port), timeout=30, source_address=(source, 0))
        made.sendall(first)
        return made


@pytest.fixture
def tested() -> Served:
    return Served()


def until(connection: socket.socket, last: bytes) -> bytes:
    """What comes up to ``last``."""
    received = b""
    while last not in received:
        piece = connection.recv(65536)
        assert piece, received
        received += piece
    return received


def rest(connection: socket.socket) -> bytes:
    """All that still comes, until the server closes."""
    received = b""
    while piece := connection.recv(65536):
        received += piece
    return received


def told(answer: bytes) -> dict[str, Any]:
    """The problem of a whole answer, which closes its connection."""
    header, _, body = answer.partition(b"\r\n\r\n")
    lines = header.lower().split(b"\r\n")
    assert b"content-type: application/problem+json" in lines
    assert b"connection: close" in lines
    assert f"content-length: {len(body)}".encode() in lines
    problem: dict[str, Any] = json.loads(body)
    assert lines[0].startswith(f"http/1.1 {problem['status']} ".encode())
    return problem


def test_an_answer_cannot_smuggle_a_header(tested: Served) -> None:
    with tested.served():
        with tested.connect(GET) as connection:
            head = until(connection, b"\r\n\r\n")
        assert b"\r\nx-told: plain\r\n" in head
        assert b"\r\ntransfer-encoding: chunked\r\n" in head
        for bad in (b"+now", b"~"):
            with tested.connect(GET.replace(b"/plain", b"/plain?" + bad)) as connection:
                assert rest(connection) == b""


def test_a_connection_without_a_request_is_closed(tested: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Quietly, after a while; one that is being answered goes on."""
    # It wants whole seconds, which a test has not.
    monkeypatch.setattr(uvicorn, "Config", partial(uvicorn.Config, timeout_keep_alive=0.1))  # type: ignore[arg-type]
    with tested.served(header_timeout=0.2), tested.connect(GET) as idle, tested.connect(STREAM) as busy:
        until(busy, b"begin")
        until(idle, LAST_CHUNK)
        idle.sendall(GET)
        until(idle, LAST_CHUNK)
        assert rest(idle) == b""
        tested.go_on.set()
        assert b"end" in until(busy, LAST_CHUNK)


@pytest.mark.parametrize("half", [HALF_HEADER, HALF_BODY], ids=["header", "body"])
def test_a_request_that_does_not_end_is_closed(tested: Served, half: bytes) -> None:
    with tested.served(header_timeout=0.1, body_timeout=0.1), tested.connect(half) as connection:
        problem = told(rest(connection))
    assert (problem["status"], problem["type"].rpartition("/")[2]) == (408, "request-timeout")
    assert "did not come to its end within 0.1 s" in problem["detail"]


def test_trickling_does_not_help(tested: Served) -> None:
    """Each byte comes in good time, the whole does not."""
    with tested.served(header_timeout=0.2), tested.connect(b"GET / HTTP/1.1\r\n") as connection:
        connection.settimeout(0.02)
        received = b""
        while not received:
            with contextlib.suppress(TimeoutError):
                received = connection.recv(65536)
            with contextlib.suppress(OSError):
                connection.send(b"X-A: b\r\n")
        assert told(received)["status"] == 408


@pytest.mark.parametrize("behind", [b"\r\n", HALF_HEADER], ids=["empty", "header"])
def test_a_connection_without_another_request_is_closed(tested: Served, behind: bytes) -> None:
    with tested.served(header_timeout=0.1), tested.connect() as fresh, tested.connect(GET) as connection:
        until(connection, LAST_CHUNK)
        connection.sendall(behind)
        assert told(rest(connection))["status"] == 408
        assert rest(fresh) == b""  # nothing was asked, nothing is said


def test_no_answer_is_cut_however_long_it_takes(tested: Served) -> None:
    """Nor is another request that came along with it, before the answer ends."""
    with (
        tested.served(header_timeout=0.1, body_timeout=0.1),
        tested.connect(STREAM) as alone,
        tested.connect(STREAM + HALF_HEADER) as another,
    ):
        until(alone, b"begin")
        until(another, b"begin")
        for _ in range(3):  # that much later
            with tested.connect(HALF_HEADER) as short:
                assert told(rest(short))["status"] == 408
        another.sendall(b"A: b\r\nConnection: close\r\n\r\n")
        tested.go_on.set()
        until(alone, b"end")
        assert rest(another).count(b"HTTP/1.1 200 OK") == 1


def test_a_body_that_the_server_does_not_read_is_not_late(tested: Served) -> None:
    size = 200_000
    post = b"POST /slow HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % size
    with tested.served(header_timeout=0.1, body_timeout=0.1), tested.connect(post) as connection:
        connection.sendall(bytes(100_000))
        assert tested.reading.wait(30)
        for _ in range(3):
            with tested.connect(HALF_BODY) as short:
                assert told(rest(short))["status"] == 408
        connection.sendall(bytes(size - 100_000))
        tested.go_on.set()
        assert b'{"bytes": 200000' in rest(connection)


@pytest.mark.parametrize("half", [b"", HALF_HEADER, HALF_BODY], ids=["nothing", "header", "body"])
def test_half_open_requests_do_not_keep_out_another_client_of_their_address(
    tested: Served, half: bytes
) -> None:
    with tested.served(client_unfinished=20), contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(tested.connect(half)) for _ in range(60)]
        assert httpx.get(tested.url, timeout=30).status_code == 200
        for connection in sockets[:40]:  # the oldest had to go
            with contextlib.suppress(ConnectionResetError):  # some before their bytes were read
                answer = rest(connection)
                assert answer == b"" or told(answer)["status"] == 503
        for connection in sockets[-19:]:
            connection.setblocking(False)
            with pytest.raises(BlockingIOError):
                connection.recv(1)


def test_a_client_at_its_limit_loses_what_waits_longest_and_no_answer(tested: Served) -> None:
    with tested.served(client_connections=3), contextlib.ExitStack() as stack:
        idle = stack.enter_context(tested.connect(GET))
        until(idle, LAST_CHUNK)
        streams = [stack.enter_context(tested.connect(STREAM)) for _ in range(3)]
        for stream in streams:
            until(stream, b"begin")
        assert rest(idle) == b""
        with tested.connect() as refused:
            problem = told(rest(refused))
        assert (problem["status"], problem["type"].rpartition("/")[2]) == (503, "unavailable")
        tested.go_on.set()
        for stream in streams:
            until(stream, b"end")


def test_no_address_gets_more_than_half_of_all_connections(tested: Served) -> None:
    with tested.served(max_connections=6), contextlib.ExitStack() as stack:
        for stream in [stack.enter_context(tested.connect(STREAM)) for _ in range(3)]:
            until(stream, b"begin")
        with tested.connect() as refused:
            assert told(rest(refused))["status"] == 503
        with tested.connect(GET, source="127.0.0.2") as elsewhere:
            until(elsewhere, b"200 OK")


def test_when_all_are_taken_the_busiest_address_makes_room(tested: Served) -> None:
    with tested.served(max_connections=4), contextlib.ExitStack() as stack:
        first = [stack.enter_context(tested.connect(HALF_HEADER)) for _ in range(2)]
        stream = stack.enter_context(tested.connect(STREAM, source="127.0.0.2"))
        until(stream, b"begin")
        stack.enter_context(tested.connect(HALF_HEADER, source="127.0.0.3"))
        with tested.connect(GET, source="127.0.0.4") as another:
            until(another, b"200 OK")
        assert told(rest(first[0]))["status"] == 503
        tested.go_on.set()
        until(stream, b"end")


@pytest.mark.parametrize("together", [True, False])
def test_trailers_are_no_headers(tested: Served, together: bool) -> None:
    headers = b"Authorization: Bearer mine\r\nIdempotency-Key: first\r\n"
    trailers = (
        b"Authorization: Bearer theirs\r\nIdempotency-Key: second\r\nHost: elsewhere\r\nX-New: yes\r\n\r\n"
    )
    request = CHUNKED % (headers, trailers)
    with tested.served(), tested.connect() as connection:
        for piece in [request] if together else [request[i : i + 1] for i in range(len(request))]:
            connection.sendall(piece)
        answer = until(connection, b"}")
    seen = json.loads(answer[answer.index(b"{") : answer.index(b"}") + 1])
    assert seen["bytes"] == 3
    assert seen["headers"] == [
        ["authorization", "Bearer mine"],
        ["host", "127.0.0.1"],
        ["idempotency-key", "first"],
        ["transfer-encoding", "chunked"],
    ]


@pytest.mark.parametrize("trailer", [b"Content-Length: 7", b"Transfer-Encoding: chunked"])
def test_trailers_about_the_length_are_refused(tested: Served, trailer: bytes) -> None:
    with tested.served(), tested.connect(CHUNKED % (b"", trailer + b"\r\n\r\n")) as connection:
        until(connection, b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    ("version", "codings"),
    [
        (b"1.1", [b"gzip, chunked"]),
        (b"1.1", [b"gzip", b"chunked"]),
        (b"1.1", [b"chunked", b"gzip"]),
        (b"1.1", [b"chunked", b"chunked"]),
        (b"1.1", [b",chunked"]),
        (b"1.1", [b"identity, chunked"]),
        (b"1.1", [b"gzip"]),
        (b"1.1", [b"chunked;q=1"]),
        (b"1.0", [b"chunked"]),
        (b"2.0", [b"chunked"]),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_a_body_that_others_would_read_differently_is_refused(
    tested: Served, version: bytes, codings: list[bytes], together: bool
) -> None:
    """What stands before a server may see the end of such a request elsewhere, and the next one in it."""
    lines = b"".join(b"Transfer-Encoding: " + coding + b"\r\n" for coding in codings)
    request = b"POST /plain HTTP/" + version + b"\r\nHost: 127.0.0.1\r\n" + lines + b"\r\n0\r\n\r\n" + GET
    with tested.served(), tested.connect() as connection:
        with contextlib.suppress(OSError):  # it may hang up before the end
            for piece in [request] if together else [request[i : i + 1] for i in range(len(request))]:
                connection.sendall(piece)
        answer = until(connection, b"}")
        assert told(answer)["type"].endswith("/malformed-body")
    assert answer.count(b"\r\n\r\n") == 1


def test_chunks_are_read_however_they_are_written(tested: Served) -> None:
    with (
        tested.served(),
        tested.connect((CHUNKED % (b"", b"\r\n")).replace(b"chunked", b"Chunked")) as client,
    ):
        assert b'"bytes": 3' in until(client, b"}")


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\nX-A: ", CHUNKED % (b"", b"X-A: ")])
def test_headers_and_trailers_have_a_limit(tested: Served, first: bytes) -> None:
    with tested.served(), tested.connect(first) as connection:
        sent = 0
        with contextlib.suppress(OSError):  # it hangs up on us
            while sent < 100_000_000:
                sent += connection.send(b"a" * 65536)
        assert sent < 100_000_000


def test_what_is_not_http_is_told_so(tested: Served) -> None:
    with tested.served(), tested.connect(b"EHLO there\r\n\r\n") as connection:
        assert told(rest(connection))["type"].endswith("/malformed-body")
