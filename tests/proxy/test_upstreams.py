"""A route whose name stands for several servers: who is asked, and who is asked instead."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from typing import Any

import numpy as np
import pytest

from leakrange.services.proxy import addresses
from leakrange.services.proxy.http1 import Client, NotSent
from leakrange.wire.tensors import encode_npy
from tests.proxy.conftest import Range, pictures
from tests.proxy.servers import HOSTS, NAME, StubProvider, resolving, serve
from tests.proxy.test_http1 import OK, request


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses of `NAME`, which a test may change."""
    return resolving(monkeypatch)


class Servers:
    """Servers at several addresses and one port, each of which counts what it was asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.servers: dict[str, asyncio.Server] = {}
        self.answers: dict[str, bytes] = {}
        """What is not answered with `OK`; nothing: the connection is closed."""
        self.port = 0

    async def start(self, host: str) -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                while True:
                    await request(reader)
                    self.asked[host] += 1
                    writer.write(self.answers.get(host, OK))
                    if self.answers.get(host, OK) != OK:
                        return
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        self.servers[host] = await asyncio.start_server(handle, host, self.port)
        self.port = self.servers[host].sockets[0].getsockname()[1]


@asynccontextmanager
async def serving(*hosts: str) -> AsyncIterator[tuple[Servers, Callable[..., Any]]]:
    servers = Servers()
    for host in hosts:
        await servers.start(host)
    client = Client(timeout=5.0, largest=1000, most=16, headers={})
    route = f"http://{NAME}:{servers.port}/v1/models/m"

    async def ask(*, repeatable: bool = False) -> int:
        return (await client.ask("POST", route, "", {}, b"body", repeatable=repeatable)).status

    try:
        yield servers, ask
    finally:
        await client.close()
        for server in servers.servers.values():
            server.close()


async def test_servers_are_asked_by_turns_and_those_that_come_are_found(names: list[str]) -> None:
    names[:] = HOSTS[:2]
    async with serving(*HOSTS) as (servers, ask):
        for _ in range(8):
            await ask()
        assert servers.asked == {HOSTS[0]: 4, HOSTS[1]: 4}
        names[:] = HOSTS[1:]
        async with asyncio.timeout(20):
            while HOSTS[2] not in servers.asked:  # the name is looked up beside requests
                await ask()
        servers.asked.clear()
        for _ in range(8):
            await ask()
        assert servers.asked == {HOSTS[1]: 4, HOSTS[2]: 4}


@pytest.mark.parametrize(("seconds", "asked_again"), [(1000.0, 0), (0.0, 3)])
async def test_one_that_cannot_be_reached_is_replaced_at_once_and_left_alone_for_a_while(
    names: list[str], monkeypatch: pytest.MonkeyPatch, seconds: float, asked_again: int
) -> None:
    monkeypatch.setattr(addresses, "LEFT_ALONE", seconds)
    async with serving(*HOSTS[1:]) as (servers, ask):
        for _ in range(9):
            assert await ask() == 200
        assert servers.asked.keys() == set(names[1:])
        await servers.start(HOSTS[0])
        for _ in range(9):
            await ask()
        assert servers.asked[HOSTS[0]] == asked_again


@pytest.mark.parametrize(
    ("answer", "repeatable", "asked"),
    [
        (b"", True, 2),
        (b"", False, 1),
        (b"HTTP/1.1 200 OK\r\nContent-Le", True, 1),
        (b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n", True, 1),
    ],
    ids=["nothing", "once", "begun", "busy"],
)
async def test_another_is_asked_only_for_what_may_be_repeated_and_before_an_answer_has_begun(
    names: list[str], answer: bytes, repeatable: bool, asked: int
) -> None:
    async with serving(*HOSTS[:2]) as (servers, ask):
        names[:] = HOSTS[:2]
        servers.answers[HOSTS[0]] = answer
        try:
            status = await ask(repeatable=repeatable)
        except OSError:
            status = None
        assert sum(servers.asked.values()) == asked
        assert status == (200 if asked == 2 else 503 if b"503" in answer else None)
        servers.asked.clear()
        for _ in range(4):
            assert await ask(repeatable=False) == 200
        assert servers.asked == {HOSTS[1]: 4}, "the other is left alone"


async def test_a_request_that_ends_whoever_gets_it_ends_no_more_than_two(names: list[str]) -> None:
    async with serving(*HOSTS) as (servers, ask):
        servers.answers |= dict.fromkeys(names, b"")
        with pytest.raises(ConnectionError):
            await ask(repeatable=True)
        assert sum(servers.asked.values()) == 2


async def test_a_name_whose_servers_are_all_replaced_is_looked_up_for_the_request_itself(
    names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "FRESH", 1000.0)
    names[:] = HOSTS[1:]
    async with serving(HOSTS[0]) as (servers, ask):
        with pytest.raises(NotSent, match="cannot be reached"):
            await ask()
        names[:] = HOSTS[:1]
        assert await ask() == 200
        assert servers.asked == {HOSTS[0]: 1}


def test_a_server_that_ends_in_the_middle_costs_no_request_and_no_sample(
    live: Range, names: list[str]
) -> None:
    stubs = {host: StubProvider() for host in HOSTS}
    ends: dict[str, ExitStack] = {host: ExitStack() for host in HOSTS}
    port = 0
    for host, stub in stubs.items():
        url = ends[host].enter_context(serve(stub, port, host))
        port = int(url.rpartition(":")[2])
    live.admin("PUT", "/routes/digits", {"upstream": f"http://{NAME}:{port}"})
    key, body = live.key(budget=120), encode_npy(pictures(2))

    def ask(number: int) -> int:
        if number == 20:
            ends[HOSTS[0]].close()
        return live.post(key, "logits", body).status_code

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(ask, range(60))) == {200}
    assert live.account()["spent"] == 120
    assert live.post(key, "logits", body).status_code == 429
    assert all(stub.data_requests() for stub in stubs.values())
    answered = sum(len(stub.data_requests()) for stub in stubs.values())
    assert 60 <= answered <= 66, "a request may have come to the one that ended, besides"
    for end in ends.values():
        end.close()
    live.admin("PUT", "/routes/digits", {"upstream": f"http://{NAME}:{port}"})
    other = live.key(budget=10, id="other")
    assert live.post(other, "logits", body).status_code == 503
    assert live.account("other")["spent"] == 0


@pytest.mark.parametrize(
    ("endpoint", "headers", "times"),
    [("outputs", {}, 1), ("outputs", {"Idempotency_Key": "mine"}, 2), ("logits", {}, 2)],
    ids=["upload", "upload with a key", "query"],
)
async def test_an_upload_is_sent_to_another_server_only_if_it_has_a_key(
    live: Range, names: list[str], endpoint: str, headers: dict[str, str], times: int
) -> None:
    asked: list[str] = []
    names[:] = HOSTS[:2]

    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        asked.append(head.partition(b" ")[0].decode())
        writer.close()

    async with await asyncio.start_server(close, HOSTS[0], 0) as first:
        port = first.sockets[0].getsockname()[1]
        async with await asyncio.start_server(close, HOSTS[1], port):
            route = {"upstream": f"http://{NAME}:{port}"}
            await asyncio.to_thread(live.admin, "PUT", "/routes/digits", route)
            key = await asyncio.to_thread(live.key, 10)
            body = encode_npy(np.eye(5, dtype=np.float32) if endpoint == "outputs" else pictures(2))
            told = headers | ({"X_Release": "logits"} if endpoint == "outputs" else {})
            answer = await asyncio.to_thread(live.post, key, endpoint, body, **told)
    assert (answer.status_code, asked) == (503, ["POST"] * times)
    assert (await asyncio.to_thread(live.account))["spent"] == 0
