"""Traces of one process: what is taken from a request, what is sent on, and what is written."""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import structlog
from fastapi import FastAPI

from leakrange import tracing
from leakrange.service.app import create_app
from leakrange.service.logs import configure_logs
from leakrange.service.traces import Traced, configure_traces
from leakrange.wire.calling import call
from leakrange.wire.transport import HttpxTransport

THEIRS = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
HEADER = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-0[01]")
Spans = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Spans]:
    """Tracing is on, and writes what this gives."""
    configure_traces("tested", tmp_path)
    yield lambda: [
        orjson.loads(line) for file in tmp_path.iterdir() for line in file.read_bytes().splitlines()
    ]
    tracing.use(None)


def app() -> FastAPI:
    made = create_app("tested", max_body=1000)

    @made.get("/v1/models/{model}")
    async def card(model: str) -> dict[str, Any]:
        structlog.get_logger("tested").warning("looked at", model=model)
        return dict(tracing.carried())

    return made


async def ask(path: str = "/v1/models/digits", **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(Traced(app())), base_url="http://t") as client:
        return await client.get(path, headers=headers)


async def test_a_request_goes_on_with_its_senders_trace(written: Spans) -> None:
    answer = await ask(traceparent=THEIRS)
    [span] = written()
    assert (span["trace"], span["parent"]) == (THEIRS[3:35], THEIRS[36:52])
    assert span["name"] == "GET /v1/models/{model}"
    assert (span["kind"], span["party"]) == ("server", "tested")
    assert span["attributes"]["http.response.status_code"] == 200
    assert answer.json() == {"traceparent": f"00-{span['trace']}-{span['span']}-01"}


async def test_a_span_does_not_tell_the_address_of_a_login(written: Spans) -> None:
    await ask("/in/a-secret-of-its-browser/runs/20260101-120000-a1b2c3")
    assert "secret" not in str(written())
    assert [span["name"] for span in written()] == ["GET /in/{login}/runs/{run}"]


@pytest.mark.parametrize(
    "nonsense",
    ["", "00-zz-zz-01", THEIRS[:-3], THEIRS.replace("0af7", "g" * 4), "00-" + "0" * 32 + THEIRS[35:]],
)
async def test_without_a_trace_that_can_be_read_one_begins(written: Spans, nonsense: str) -> None:
    await ask(traceparent=nonsense)
    await ask()
    one, other = written()
    assert one["parent"] is None is other["parent"]
    assert one["trace"] != other["trace"]


async def test_neither_a_senders_state_nor_its_wish_not_to_be_traced_is_passed_on(written: Spans) -> None:
    """By either, a provider could tell one client's requests from another's."""
    answer = await ask(traceparent=THEIRS[:-2] + "00", tracestate="run=secret", baggage="run=secret")
    assert len(written()) == 1
    assert answer.json().keys() == {"traceparent"}
    assert answer.json()["traceparent"].endswith("-01")
    plain = await ask()
    assert HEADER.fullmatch(plain.json()["traceparent"])


async def test_health_and_metrics_are_not_traced(written: Spans) -> None:
    for path in ("/healthz", "/readyz", "/metrics"):
        await ask(path)
    assert written() == []


class Heard(HttpxTransport):
    """Keeps the headers of what it sends."""

    sent: list[dict[str, str]]

    async def send(self, method: str, url: str, headers: dict[str, str], body: bytes | None) -> Any:
        self.__dict__.setdefault("sent", []).append(dict(headers))
        return await super().send(method, url, headers, body)


@pytest.fixture
async def transport() -> Any:
    made = Heard(app=app())
    yield made
    await made.close()


async def test_calls_share_no_trace_unless_one_encloses_them(written: Spans, transport: Heard) -> None:
    url = "http://t/v1/models/digits"
    with tracing.root("run", run="20260101-000000-abcdef"):
        await call(transport, "GET", url)
        await call(transport, "GET", url)
        with tracing.outward("upload"):
            await call(transport, "GET", url)
            await call(transport, "GET", url)
        with tracing.inward("session"):
            await call(transport, "GET", url)
    traces = [headers["traceparent"][3:35] for headers in transport.sent]
    one, other, first, second, inside = traces
    assert len({one, other, first, inside}) == 4
    assert first == second
    [run] = [span for span in written() if span["name"] == "run"]
    assert inside == run["trace"]
    assert not {one, other, first} & {run["trace"]}
    begun = [span for span in written() if span["trace"] in (one, other, first) and span["parent"] is None]
    assert [span["links"] for span in begun] == [[{"trace": run["trace"], "span": run["span"]}]] * 3


def test_ids_of_forked_processes_differ(written: Spans) -> None:
    reads, writes = os.pipe()
    for _ in range(2):
        if (pid := os.fork()) == 0:
            try:
                with tracing.span("forked"):
                    os.write(writes, f"{tracing.trace_id()}\n".encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
    os.close(writes)
    with open(reads) as told:
        ids = told.read().split()
    assert len(set(ids)) == 2
    assert {span["trace"] for span in written()} == set(ids)


async def test_lines_that_are_logged_name_the_trace(
    written: Spans, capfd: pytest.CaptureFixture[str]
) -> None:
    root = logging.getLogger()
    before = root.handlers[:], root.level, structlog.get_config()
    configure_logs("tested")
    try:
        await ask(traceparent=THEIRS)
        structlog.get_logger("tested").warning("outside")
    finally:
        root.handlers[:], root.level = before[0], before[1]
        structlog.configure(**before[2])
    inside, outside = (json.loads(line) for line in capfd.readouterr().err.splitlines() if line[0] == "{")
    assert inside["event"] == "looked at"
    assert inside["trace"] == THEIRS[3:35]
    assert "trace" not in outside


def test_an_error_is_told_with_the_span(written: Spans) -> None:
    with pytest.raises(ValueError, match="wrong"), tracing.span("work"):
        raise ValueError("wrong")
    [span] = written()
    assert span["error"] == "ValueError: wrong"


def test_off_nothing_is_made_or_sent() -> None:
    configure_traces("tested", None)
    assert not tracing.on()
    with tracing.span("work"), tracing.call("GET", "http://t/") as headers:
        assert headers == {}
        assert tracing.trace_id() is None
    assert tracing.span("one") is tracing.outward("other", samples=1)


def test_spans_go_to_the_collector_that_the_standard_variable_names(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[tuple[str, bytes]] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            heard.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        configure_traces("tested", None)
        try:
            with tracing.span("shown to a collector"):
                pass
            tracing.flush()
        finally:
            tracing.use(None)
            server.shutdown()
            thread.join()
    assert [path for path, _ in heard] == ["/v1/traces"]
    assert b"shown to a collector" in heard[0][1]
    assert b"tested" in heard[0][1]
