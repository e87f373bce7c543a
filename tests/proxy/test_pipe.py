"""The proxy's connection to Redis: many calls at once, in order, and what happens when it is lost."""

from __future__ import annotations

import asyncio

import pytest
from redis.exceptions import ConnectionError, NoScriptError, ResponseError, TimeoutError

from leakrange.services.proxy.pipe import Pipe


async def test_each_call_gets_its_own_answer(empty_redis_url: str) -> None:
    pipe = Pipe(empty_redis_url, 5)
    answers = await asyncio.gather(*(pipe.call("ECHO", f"call {number}") for number in range(500)))
    assert answers == [f"call {number}".encode() for number in range(500)]
    await pipe.close()


async def test_an_error_is_that_of_its_call_alone(empty_redis_url: str) -> None:
    pipe = Pipe(empty_redis_url, 5)
    calls = pipe.call("SET", "name", "text"), pipe.call("INCR", "name"), pipe.call("GET", "name")
    made, wrong, read = await asyncio.gather(*calls, return_exceptions=True)
    assert (made, read) == (b"OK", b"text")
    assert isinstance(wrong, ResponseError)
    with pytest.raises(NoScriptError):
        await pipe.call("EVALSHA", "0" * 40, 0)
    await pipe.close()


async def test_a_cancelled_call_does_not_shift_the_answers(empty_redis_url: str) -> None:
    pipe = Pipe(empty_redis_url, 5)
    await pipe.call("PING")
    calls = [asyncio.ensure_future(pipe.call("ECHO", str(number))) for number in range(9)]
    await asyncio.sleep(0)
    calls[3].cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(answers.pop(3), asyncio.CancelledError)
    assert answers == [str(number).encode() for number in range(9) if number != 3]
    await pipe.close()


async def test_a_lost_connection_fails_what_waits_and_is_made_anew(empty_redis_url: str) -> None:
    pipe, other = Pipe(empty_redis_url, 20), Pipe(empty_redis_url, 5)
    own = await pipe.call("CLIENT", "ID")
    waits = asyncio.ensure_future(pipe.call("BLPOP", "never", 0))
    await asyncio.sleep(0)
    await other.call("CLIENT", "KILL", "ID", own)
    with pytest.raises(ConnectionError):
        await waits
    assert await pipe.call("CLIENT", "ID") != own
    await pipe.close()
    await other.close()


async def test_a_server_that_does_not_answer_fails_all_in_time(empty_redis_url: str) -> None:
    pipe = Pipe(empty_redis_url, 0.1)
    first, second = pipe.call("BLPOP", "never", 0), pipe.call("PING")
    for told in await asyncio.gather(first, second, return_exceptions=True):
        assert isinstance(told, TimeoutError)
    assert await pipe.call("PING") == b"PONG"
    await pipe.close()


async def test_a_connection_that_cannot_be_made_fails_its_calls_and_no_others() -> None:
    ended = asyncio.Event()

    async def pong(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(1000):
            writer.write(b"+PONG\r\n")
        writer.close()
        ended.set()

    async with await asyncio.start_server(pong, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
    pipe = Pipe(f"redis://127.0.0.1:{port}/0", 5)
    for told in await asyncio.gather(pipe.call("PING"), pipe.call("PING"), return_exceptions=True):
        assert isinstance(told, ConnectionError)
    async with await asyncio.start_server(pong, "127.0.0.1", port):
        assert await pipe.call("PING") == b"PONG"
        await pipe.close()
        await ended.wait()


async def test_what_is_no_redis_is_an_error() -> None:
    async def web(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(web, "127.0.0.1", 0) as server:
        pipe = Pipe(f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0", 5)
        with pytest.raises(ConnectionError, match="does not speak as Redis"):
            await pipe.call("PING")


async def test_a_password_and_a_base_are_used(empty_redis_url: str) -> None:
    operator = Pipe(empty_redis_url, 5)
    await operator.call("ACL", "SETUSER", "guest", "on", ">a password", "~*", "+@all")
    place = empty_redis_url.removeprefix("redis://").rpartition("/")[0]
    pipe = Pipe(f"redis://guest:a%20password@{place}/3", 5)
    assert await pipe.call("ACL", "WHOAMI") == b"guest"
    await pipe.call("SET", "here", "1")
    assert await operator.call("EXISTS", "here") == 0
    wrong = Pipe(f"redis://guest:wrong@{place}/3", 5)
    with pytest.raises(ResponseError):
        await wrong.call("PING")
    await operator.call("ACL", "DELUSER", "guest")
    for each in (operator, pipe):
        await each.close()
