from __future__ import annotations

import asyncio
import hmac
import http.client
import json
import socket
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
import structlog
from fastapi import APIRouter, FastAPI, Request
from pydantic import SecretStr

from leakrange.service.app import bearer, check_operator, create_app
from leakrange.service.bodies import SMALL_BODY
from leakrange.strict import Strict
from leakrange.wire.errors import Forbidden, Unauthenticated, Unavailable
from tests.serving import serving

LIMIT = 10_000


class Body(Strict):
    number: int


healthy = {"disk": True}


def build() -> FastAPI:
    async def disk() -> None:
        if not healthy["disk"]:
            raise OSError("no disk at /models")

    async def slow() -> None:
        if not healthy["disk"]:
            await asyncio.Event().wait()

    async def well() -> None:
        """Nothing ever lacks here."""

    app = create_app("tested", max_body=LIMIT, ready={"disk": disk, "slow": slow, "well": well})

    @app.post("/json")
    async def takes_json(body: Body) -> Body:
        return body

    @app.post("/raw/{name}")
    async def takes_bytes(name: str, request: Request) -> dict[str, int]:
        return {"bytes": len(await request.body())}

    @app.get("/full")
    async def full() -> None:
        raise Unavailable("all queues are full", retry_after=2, waiting=17)

    @app.get("/bug")
    async def bug() -> None:
        raise ZeroDivisionError("a secret of the inside")

    return app


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(build()) as address:
        yield address


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    healthy["disk"] = True
    async with httpx.AsyncClient(base_url=url, timeout=10) as made:
        yield made


def problem(answer: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["status"] == status
    assert body["type"] == f"https://leakrange.dev/problems/{slug}"
    assert body["title"]
    return body


async def test_health_and_readiness(client: httpx.AsyncClient) -> None:
    health = (await client.get("/healthz")).json()
    assert (health["status"], health["party"]) == ("ok", "tested")
    ready = await client.get("/readyz")
    assert (ready.status_code, ready.json()) == (200, {"status": "ready", "failed": {}})
    healthy["disk"] = False
    unready = await client.get("/readyz")
    assert unready.status_code == 503
    assert unready.json()["failed"] == {"disk": "no disk at /models", "slow": "TimeoutError"}
    assert (await client.get("/healthz")).status_code == 200


def test_routes_are_built_before_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    router = APIRouter()

    @router.get("/sum")
    async def added(left: int, right: int) -> int:
        return left + right

    app = create_app("tested", max_body=LIMIT)
    app.include_router(router)
    with serving(app) as address:
        monkeypatch.delattr("fastapi.routing.create_model_field")
        assert httpx.get(f"{address}/sum?left=3&right=4").json() == 7


async def test_errors_are_problems(client: httpx.AsyncClient) -> None:
    full = await client.get("/full")
    body = problem(full, 503, "unavailable")
    assert (body["detail"], body["waiting"], body["instance"]) == ("all queues are full", 17, "/full")
    assert full.headers["retry-after"] == "2"
    problem(await client.get("/nowhere"), 404, "not-found")
    wrong = await client.get("/json")
    problem(wrong, 405, "method-not-allowed")
    assert wrong.headers["allow"] == "POST"


def about(logs: list[Any], path: str) -> list[Any]:
    """The entries of that path: the line of an earlier request may still come."""
    return [entry for entry in logs if entry.get("path") == path]


async def logged(logs: list[Any], event: str, path: str, seconds: float = 10.0) -> Any:
    """The one entry of that event. A server writes a request's line after its answer is out."""
    async with asyncio.timeout(seconds):
        while not (found := [each for each in about(logs, path) if each["event"] == event]):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    (entry,) = found
    return entry


async def test_a_refused_request_leaves_a_line_in_the_log(client: httpx.AsyncClient) -> None:
    with structlog.testing.capture_logs() as logs:
        answer = await client.get("/nowhere")
        request = await logged(logs, "request", "/nowhere")
    assert answer.status_code == 404
    assert (request["log_level"], request["status"], request["path"]) == ("info", 404, "/nowhere")


async def test_a_bug_is_logged_and_not_told(client: httpx.AsyncClient) -> None:
    with structlog.testing.capture_logs() as logs:
        answer = await client.get("/bug")
        unhandled = await logged(logs, "unhandled error", "/bug")
        request = await logged(logs, "request", "/bug")
    problem(answer, 500, "internal-error")
    assert "secret" not in answer.text
    assert "a secret of the inside" in repr(unhandled["exc_info"])
    assert (request["log_level"], request["status"]) == ("error", 500)


@pytest.mark.parametrize(
    ("body", "status", "slug", "path"),
    [
        (b"{", 400, "malformed-body", "body"),
        (b"\xff\xfe", 400, "malformed-body", None),
        (b"[" * 9000, 400, "malformed-body", None),
        (b'{"number": "many"}', 422, "invalid-input", "body.number"),
        (b'{"number": 1, "more": 2}', 422, "invalid-input", "body.more"),
        (b'{"number": 1e999}', 422, "invalid-input", "body.number"),
        (b'{"number": 1, "\\ud800": 2}', 422, "invalid-input", "body"),
        (b"", 422, "invalid-input", "body"),
    ],
)
async def test_bad_bodies_are_told_what_is_wrong(
    client: httpx.AsyncClient, body: bytes, status: int, slug: str, path: str | None
) -> None:
    answer = await client.post("/json", content=body, headers={"Content-Type": "application/json"})
    told = problem(answer, status, slug)
    if path is not None:
        assert told["mistakes"][0]["path"].startswith(path)


async def stream(size: int) -> AsyncIterator[bytes]:
    for _ in range(size // 1000):
        yield b"1" * 1000


@pytest.mark.parametrize("path", ["/json", "/raw/x"])
async def test_a_body_over_the_limit_is_refused_whether_it_says_so_or_not(
    client: httpx.AsyncClient, path: str
) -> None:
    headers = {"Content-Type": "application/json"}
    declared = await client.post(path, content=b"1" * (LIMIT + 1), headers=headers)
    streamed = await client.post(path, content=stream(400 * LIMIT), headers=headers)
    for answer in (declared, streamed):
        assert problem(answer, 413, "body-too-large")["detail"] == f"a request body may have {LIMIT} bytes"
        assert answer.headers["connection"] == "close"


async def test_a_body_at_the_limit_is_taken(client: httpx.AsyncClient) -> None:
    for content in (b"1" * LIMIT, stream(LIMIT)):
        assert (await client.post("/raw/x", content=content)).json() == {"bytes": LIMIT}


async def test_only_models_take_large_bodies() -> None:
    """Others are parsed before the key is looked at."""
    app = create_app("tested", max_body=2 * SMALL_BODY)

    @app.post("/v1/jobs")
    @app.post("/v1/models/{model}/logits")
    async def takes(request: Request) -> int:
        return len(await request.body())

    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://tested") as client:
        for path, limit in (("/v1/jobs", SMALL_BODY), ("/v1/models/x/logits", 2 * SMALL_BODY)):
            assert (await client.post(path, content=bytes(limit))).json() == limit
            for content in (bytes(limit + 1), stream(limit + 1000)):
                told = problem(await client.post(path, content=content), 413, "body-too-large")
                assert told["detail"] == f"a request body may have {limit} bytes"


def test_a_gigabyte_is_refused_before_it_is_sent(url: str) -> None:
    """Headers alone, and no byte of the body: the answer is there at once."""
    host = httpx.URL(url)
    with socket.create_connection((host.host, host.port or 80), timeout=10) as connection:
        connection.sendall(b"POST /raw/x HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        assert answer.status == 413
        assert json.loads(answer.read())["type"].endswith("/body-too-large")


async def test_a_client_that_hangs_up_leaves_one_line_and_no_error(url: str) -> None:
    host = httpx.URL(url)
    with structlog.testing.capture_logs() as logs:
        with socket.create_connection((host.host, host.port or 80), timeout=10) as connection:
            connection.sendall(b"POST /raw/left HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nonly this")
        request = await logged(logs, "request", "/raw/left")
    assert (request["log_level"], request["status"]) == ("info", 499)
    assert about(logs, "/raw/left") == [request]


async def test_metrics_count_by_route_and_not_by_path(client: httpx.AsyncClient) -> None:
    for name in ("one", "two"):
        await client.post(f"/raw/{name}", content=b"x")
    await client.get("/no-such-place")
    await client.request("PROPFIND", "/json")
    text = (await client.get("/metrics")).text
    counted = [line for line in text.splitlines() if line.startswith("leakrange_requests_total")]
    assert any('method="POST",route="/raw/{name}",status="200"' in line for line in counted)
    assert any('method="GET",route="(none)",status="404"' in line for line in counted)
    assert any('method="OTHER"' in line for line in counted)
    assert "no-such-place" not in text
    assert "/raw/one" not in text
    assert 'leakrange_request_seconds_count{method="POST",route="/raw/{name}"}' in text


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer  ", "Basic abc", "abc"])
def test_no_key_is_unauthenticated(header: str | None) -> None:
    with pytest.raises(Unauthenticated) as refused:
        check_operator(header, SecretStr("the-right-key"))
    assert refused.value.headers["WWW-Authenticate"] == "Bearer"


def test_only_the_operators_key_passes() -> None:
    check_operator("bearer the-right-key", SecretStr("the-right-key"))
    assert bearer("Bearer  abc ") == "abc"
    for wrong in ("the-right-ke", "the-right-keyy", "", "ünïcode"):
        with pytest.raises((Forbidden, Unauthenticated)):
            check_operator(f"Bearer {wrong}", SecretStr("the-right-key"))


def test_how_long_a_refusal_takes_does_not_tell_how_much_of_a_key_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared: list[tuple[bytes, bytes]] = []
    constant_time = hmac.compare_digest

    def compare(given: bytes, right: bytes) -> bool:
        compared.append((given, right))
        return constant_time(given, right)

    monkeypatch.setattr(hmac, "compare_digest", compare)
    with pytest.raises(Forbidden):
        check_operator("Bearer the-right-kex", SecretStr("the-right-key"))
    check_operator("Bearer the-right-key", SecretStr("the-right-key"))
    assert compared == [(b"the-right-kex", b"the-right-key"), (b"the-right-key", b"the-right-key")]
