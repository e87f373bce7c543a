"""A server answers to its own names alone, and asks from other hosts' pages are refused."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from leakrange.service.hosts import HostGuard


async def answers(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"our secrets"})


GUARDED = HostGuard(
    answers, ["proxy", "Range.Example", "*.cluster.local", "gateway.example:8443"], host="127.0.0.1"
)


def ask(guard: HostGuard, *headers: tuple[str, str], server: str = "10.0.0.7") -> httpx.Response:
    """Ask with exactly these headers, at the address ``server``."""

    async def get() -> httpx.Response:
        raw = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]

        async def app(scope: Any, receive: Any, send: Any) -> None:
            await guard(scope | {"headers": raw, "server": (server, 8000)}, receive, send)

        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://any") as client:
            return await client.get("/v1/models")

    return asyncio.run(get())


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:8700",
        "127.9.9.9:1",
        "localhost",
        "LOCALHOST:8700",
        "localhost.:8700",
        "[::1]",
        "[::1]:8700",
        "10.0.0.7:8000",  # where the request came to, as probes of Kubernetes have it
        "proxy:8000",
        "range.example",
        "proxy.range.svc.cluster.local:80",
        "gateway.example:8443",
    ],
)
def test_its_own_names_and_addresses_are_answered(host: str) -> None:
    for _ in range(2):
        assert ask(GUARDED, ("Host", host)).text == "our secrets"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8700",
        "localhost.evil.example",
        "evil.localhost",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "[::1].evil.example",
        "[::1]evil.example:80",
        "proxy.evil.example",
        "cluster.local",
        "evilcluster.local",
        "10.0.0.8:8000",
        "2130706433",
        "localhost:8700:1",
        "*",
        "",
    ],
)
def test_any_other_name_is_refused(host: str) -> None:
    for _ in range(2):
        answer = ask(GUARDED, ("Host", host))
        assert answer.status_code == 421
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["type"].endswith("/wrong-host")
        assert "LEAKRANGE_ALLOWED_HOSTS" in answer.json()["hint"]


def test_a_request_has_one_host() -> None:
    assert ask(GUARDED).status_code == 421
    assert ask(GUARDED, ("Host", "localhost"), ("Host", "evil.example")).status_code == 421
    assert ask(GUARDED, ("Host", "evil.example"), ("Host", "localhost")).status_code == 421


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8700", "http://localhost:8700"),
        ("127.0.0.1:8700", "http://127.0.0.1:8700"),
        ("range.example", "https://range.example"),
        ("proxy:8000", "https://range.example"),  # a gateway gave it another Host
        ("proxy:8000", "https://gateway.example:8443"),
        ("proxy:8000", "https://pages.cluster.local"),
    ],
)
def test_its_own_pages_may_ask(host: str, origin: str) -> None:
    assert ask(GUARDED, ("Host", host), ("Origin", origin)).text == "our secrets"


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://evil.example:8700",
        "http://localhost:9999",
        "http://localhost:8700.evil.example",
        "null",
        "file://",
        "",
    ],
)
def test_pages_of_others_may_not_ask(origin: str) -> None:
    answer = ask(GUARDED, ("Host", "localhost:8700"), ("Origin", origin))
    assert answer.status_code == 403
    assert answer.json()["type"].endswith("/foreign-origin")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:8700", "http://127.0.0.1:18797"),
        ("127.0.0.1:8700", "http://127.0.0.1"),
        ("range.example", "https://range.example:8443"),
        ("proxy:8000", "https://gateway.example"),
        ("proxy:8000", "https://pages.cluster.local:8443"),
    ],
)
def test_another_port_of_the_same_host_is_somebody_else(host: str, origin: str) -> None:
    """Whatever address the server listens at, and whatever names it may have."""
    answer = ask(GUARDED, ("Host", host), ("Origin", origin))
    assert answer.status_code == 403
    assert answer.json()["type"].endswith("/foreign-origin")


def test_an_operator_may_allow_any_host() -> None:
    assert ask(HostGuard(answers, ["*"]), ("Host", "evil.example")).text == "our secrets"
