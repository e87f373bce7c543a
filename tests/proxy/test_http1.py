"""The proxy's HTTP client against servers that answer in every way, and in none."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from leakrange.services.proxy import http1
from leakrange.services.proxy.http1 import AnswerTooLarge, BadAnswer, Client

Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@asynccontextmanager
async def asking(handle: Handle, **changes: Any) -> AsyncIterator[Callable[..., Awaitable[Any]]]:
    """Ask a server that has ``handle`` for every connection."""

    serving: set[asyncio.Task[Any] | None] = set()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        try:
            await handle(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    models = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/models/"
    settings = {"timeout": 20.0, "largest": 1000, "most": 4, "headers": {"User-Agent": "tests"}} | changes
    client = Client(**settings)

    async def ask(
        body: bytes | None = b"body", model: str = "digits", repeatable: bool = False, **headers: str
    ) -> Any:
        return await client.ask("POST", models + model, "?person=ann", headers, body, repeatable=repeatable)

    async with server:
        yield ask
        await client.close()
        await asyncio.gather(*filter(None, serving))


async def request(reader: asyncio.StreamReader) -> bytes:
    """One request with a body of four bytes."""
    return await reader.readuntil(b"\r\n\r\n") + await reader.readexactly(4)


def answering(*answers: bytes, close: bool = False) -> tuple[Handle, list[bytes]]:
    """Give one answer after the other, on whichever connection; also what was asked."""
    asked: list[bytes] = []
    left = list(answers)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while left:
            asked.append(await request(reader))
            writer.write(left.pop(0))
            await writer.drain()
            if close:
                return
        await reader.read()

    return handle, asked


async def test_a_request_says_what_it_must_and_keeps_its_connection() -> None:
    handle, asked = answering(OK, OK)
    async with asking(handle) as ask:
        for _ in range(2):
            response = await ask(Accept="application/x-npy")
            assert (response.status, response.body) == (200, b"ok")
    lines = asked[1].split(b"\r\n")
    assert lines[0] == b"POST /v1/models/digits?person=ann HTTP/1.1"
    assert lines[1].startswith(b"Host: 127.0.0.1:")
    assert {b"User-Agent: tests", b"Accept: application/x-npy", b"Content-Length: 4"} <= set(lines)
    assert asked[0] == asked[1]


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\nX-Late: 1\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK,
        b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK,
    ],
    ids=["chunks", "continue", "hints"],
)
async def test_answers_in_any_form_are_read(answer: bytes) -> None:
    handle, asked = answering(answer, OK)
    async with asking(handle) as ask:
        for _ in range(2):
            response = await ask()
            assert (response.status, response.body, response.header(b"x-late")) == (200, b"ok", None)
    assert len(asked) == 2


async def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    handle, _ = answering(b"HTTP/1.0 200 OK\r\n\r\nok", close=True)
    async with asking(handle) as ask:
        assert (await ask()).body == b"ok"


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
        b"HTTP/1.1 200",
        b"HTTP/1.1 200 OK\r\n" + b"X-Long: " + b"x" * 200_000,
        b"",
    ],
    ids=["other protocol", "short", "short chunks", "length", "cut", "endless header", "nothing"],
)
async def test_what_is_no_whole_answer_is_an_error(answer: bytes) -> None:
    handle, _ = answering(answer, close=True)
    async with asking(handle) as ask:
        with pytest.raises((BadAnswer, ConnectionError)):
            await ask()


@pytest.mark.parametrize("length", [b"Content-Length: 1001\r\n", b"Connection: close\r\n"])
async def test_an_answer_beyond_the_limit_is_not_read_to_its_end(length: bytes) -> None:
    handle, _ = answering(b"HTTP/1.1 200 OK\r\n" + length + b"\r\n" + b"x" * 1001)
    async with asking(handle) as ask:
        with pytest.raises(AnswerTooLarge):
            await ask()


async def test_a_server_that_says_nothing_is_given_up() -> None:
    handle, asked = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
    async with asking(handle, timeout=0.05) as ask:
        with pytest.raises(TimeoutError):
            await ask()
    assert len(asked) == 1


async def test_no_deadline_is_forgotten_when_the_clock_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    """uvloop counts in milliseconds: a timer may be early, and the clock may tick between two looks at it."""
    handle, _ = answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
    loop, ticks = asyncio.get_running_loop(), itertools.count()
    clock, timer = loop.time, loop.call_at
    async with asking(handle, timeout=0.5) as ask:
        await loop.run_in_executor(None, int)  # what is slow once
        monkeypatch.setattr(loop, "time", lambda: clock() + next(ticks) * 0.01)
        monkeypatch.setattr(loop, "call_at", lambda when, *call, **how: timer(when - 0.025, *call, **how))
        late = asyncio.ensure_future(ask())
        ended, _ = await asyncio.wait([late], timeout=5)
        monkeypatch.undo()
        late.cancel()
    assert ended == {late}
    with pytest.raises(TimeoutError):
        late.result()


@pytest.mark.parametrize("repeatable", [True, False])
async def test_only_what_may_be_repeated_is_sent_again(repeatable: bool) -> None:
    """The server closes a connection that has waited, in the moment in which the next request comes."""
    asked: list[bytes] = []

    async def closing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await request(reader))
        writer.write(OK)
        if len(asked) == 1:
            asked.append(await request(reader))  # and no answer
        else:
            await reader.read()

    async with asking(closing) as ask:
        await ask()
        if repeatable:
            assert (await ask(repeatable=True)).body == b"ok"
        else:
            with pytest.raises(ConnectionError):
                await ask()
    assert len(asked) == (3 if repeatable else 2)


async def test_interim_answers_do_not_go_on_for_ever() -> None:
    handle, _ = answering(b"HTTP/1.1 102 Processing\r\n\r\n" * 20)
    async with asking(handle) as ask:
        with pytest.raises(BadAnswer, match="interim"):
            await ask()


FALSE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfalse"


@pytest.mark.parametrize("more", [FALSE, b"nonsense"], ids=["answer", "nonsense"])
async def test_a_second_answer_is_nobodys(more: bytes) -> None:
    """An answer that nobody asked for must not become that of the next request."""
    handle, asked = answering(OK + more, OK)
    async with asking(handle) as ask:
        assert (await ask()).body == b"ok"
        assert (await ask()).body == b"ok"
    assert len(asked) == 2


class Connections:
    """Answers on each connection until it closes, and counts them."""

    def __init__(self, *answers: bytes) -> None:
        self.left, self.files = list(answers), list[int]()
        """The second: the file descriptor of each connection."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.files.append(writer.get_extra_info("socket").fileno())
        while True:
            await request(reader)
            writer.write(self.left.pop(0) if self.left else OK)
            await writer.drain()


@pytest.mark.parametrize("more", [FALSE, b"nonsense"], ids=["answer", "nonsense"])
async def test_what_comes_after_the_answer_ends_the_connection_before_the_next_request(more: bytes) -> None:
    handle = Connections()
    async with asking(handle) as ask:
        assert (await ask()).body == b"ok"
        # Past the event loop, which has no turn to read it before the next request.
        os.write(handle.files[0], more)
        assert (await ask()).body == b"ok"
    assert len(handle.files) == 2


async def test_of_two_answers_on_a_used_connection_none_is_taken() -> None:
    """The first may be a late one to the request before."""
    handle = Connections(OK, FALSE + OK)
    async with asking(handle) as ask:
        await ask()
        with pytest.raises(BadAnswer, match="more than one"):
            await ask()
    assert len(handle.files) == 1


@pytest.mark.parametrize(
    ("at_once", "later"),
    [(FALSE, b""), (b"nonsense", b""), (b"", FALSE)],
    ids=["answer", "nonsense", "later"],
)
async def test_a_server_that_answered_too_much_gets_each_request_on_its_own_connection(
    at_once: bytes, later: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    handle = Connections(OK + at_once)
    async with asking(handle) as ask:
        await ask()
        os.write(handle.files[0], later)
        for _ in range(3):
            await ask()
        assert len(handle.files) == 4
        await ask(model="rows")
        await ask(model="rows")
        assert len(handle.files) == 5, "another route is trusted"
    monkeypatch.setattr(http1, "DISTRUST", 0.0)
    handle = Connections(OK + at_once)
    async with asking(handle) as ask:
        await ask()
        os.write(handle.files[0], later)
        for _ in range(3):
            await ask()
    assert len(handle.files) == 2, "after that time it is trusted again"


async def test_routes_share_no_connections() -> None:
    handle = Connections()
    async with asking(handle) as ask:
        for model in ("digits", "rows", "digits", "rows"):
            await ask(model=model)
    assert len(handle.files) == 2


async def test_no_more_requests_are_under_way_than_allowed() -> None:
    under_way, most, go_on = 0, 0, asyncio.Event()

    async def counting(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal under_way, most
        while True:
            await request(reader)
            under_way += 1
            most = max(most, under_way)
            if under_way == 4:
                go_on.set()
            await go_on.wait()
            under_way -= 1
            writer.write(OK)

    async with asking(counting) as ask:
        answers = await asyncio.gather(*(ask() for _ in range(40)))
    assert (len(answers), most) == (40, 4)


async def test_a_header_cannot_smuggle_another() -> None:
    handle, asked = answering(OK)
    async with asking(handle) as ask:
        with pytest.raises(BadAnswer, match="cannot be sent"):
            await ask(Accept="a\r\nX-Operator: yes")
    assert not asked
