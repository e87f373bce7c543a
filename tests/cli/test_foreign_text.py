"""What others have named or written reaches a terminal as text, and steers nothing there."""

from __future__ import annotations

import ast
import io
import json
import unicodedata
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from typer.testing import CliRunner, Result

from leakrange.clients.cli import console, progress
from leakrange.clients.cli.main import app
from tests.controller.conftest import SCENARIO

EVIL = (
    "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp\u2066.\u2028[red]x[/nothing]\x7f\u200b\udc80\nhint: run it\r\x08"
)
"""A title, a cleared screen, colours, turned text, markup, lines of its own."""
SENT = EVIL.replace("\udc80", "")
"""What can be sent as JSON."""
TIME = "2026-01-01T00:00:00Z"
RUN = {
    "id": "run-1", "name": SENT, "state": "failed", "created": SENT, "started": SENT, "finished": SENT,
    "seconds": 1.0, "error": SENT, "jobs": {SENT: {"total": 1}}, "trials": {},
}  # fmt: skip
CELL = {
    **dict.fromkeys(
        ("data", "provider", "sensitive", "kind", "defence", "attack", "knowledge", "metric", "title"), SENT
    ),
    "budget": 1,
    "unit": SENT,
    "role": SENT,
    "figures": [None, None],
    "changes": [None, None],
}
COMPARED = {
    "runs": [{"letter": SENT, "run": SENT, "name": SENT, "state": "done", "created": SENT} for _ in range(2)],
    "differences": [{"path": SENT, "values": [SENT, None]}],
    "cells": [CELL],
    "notes": [SENT],
    "charts": [],
    "theme": {},
}
VIEWS = {
    **dict.fromkeys(("run", "name", "state"), SENT), "sentences": [SENT], "caveats": [], "tiles": [],
    "glance": [
        {"task": SENT, "defences": [SENT], "rows": [{"provider": SENT, "cells": [SENT]}]},
    ],
    "sections": [], "choices": {"providers": [], "defences": [], "attacks": []}, "theme": {},
}  # fmt: skip
PROBLEM = {"type": SENT, "title": SENT, "status": 409, "detail": SENT, "hint": SENT}
MISTAKES = {
    "type": "https://leakrange.example/problems/invalid-scenario", "title": SENT, "status": 422,
    "detail": SENT, "hint": SENT,
    "mistakes": [
        {"line": 1, "column": 1, "path": SENT, "message": SENT, "allowed": [SENT], "suggestion": SENT}
    ],
}  # fmt: skip
ANSWERS: dict[str, Any] = {
    "GET /v1/runs": {"runs": [RUN], "next": None},
    "GET /v1/runs/run-1": RUN,
    "GET /v1/runs/run-3": RUN | {"state": "done"},
    "GET /v1/runs/run-3/views": VIEWS,
    "DELETE /v1/runs/run-1": RUN,
    "POST /v1/runs": {"id": "run-1", "name": SENT, "trials": 1, "models": 1, "url": SENT},
    "GET /v1/compare": COMPARED,
    "GET /v1/models": {
        "models": [
            {
                **dict.fromkeys(("digest", "data", "behaviour", "created"), SENT),
                "seed": 1,
                "recipe": {},
                "figures": {},
            }
        ]
    },
    "GET /admin/limits": {
        "limits": [{"name": "n", "kind": SENT, SENT: SENT}],
        "kinds": [{"kind": SENT, "summary": SENT, "parameters": {SENT: {}}, "required": [SENT]}],
    },
}
EVENTS = (
    "".join(
        f"id: {number}\nevent: {kind}\ndata: {json.dumps({'at': TIME, 'message': SENT, 'kind': SENT})}\n\n"
        for number, kind in enumerate(("job.failed", "trial.failed", "run.finished"), 1)
    )
).encode()


class Hostile(BaseHTTPRequestHandler):
    """A range that puts `EVIL` wherever it can; what it does not know is a problem."""

    def answer(self) -> None:
        path = self.path.partition("?")[0]
        sent = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, media, body = 200, "application/json", b""
        if path.endswith("/events"):
            media, body = "text/event-stream", EVENTS
        elif "format=csv" in self.path or path.endswith("/load/table"):
            media, body = "text/csv", EVIL.encode(errors="surrogatepass")
        elif self.command == "POST" and path == "/v1/runs" and b"mistaken" in sent:
            status, media, body = 422, "application/problem+json", json.dumps(MISTAKES).encode()
        elif f"{self.command} {path}" not in ANSWERS:
            status, media, body = 409, "application/problem+json", json.dumps(PROBLEM).encode()
        else:
            body = json.dumps(ANSWERS[f"{self.command} {path}"]).encode()
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def hostile() -> Iterator[dict[str, str]]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Hostile) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}"
        yield {
            "LEAKRANGE_URL": url,
            "LEAKRANGE_PROXY_URL": url,
            "LEAKRANGE_OPERATOR_KEY": "0123456789abcdef-operator",
        }
        server.shutdown()
        thread.join()


def steers(printed: str) -> set[str]:
    """The characters in it that would steer a terminal, but for ends of lines."""
    kinds = ("Cc", "Cf", "Cs", "Zl", "Zp")
    return {each for each in printed if unicodedata.category(each) in kinds} - {"\n"}


COMMANDS = (
    ["runs"], ["cancel", "run-1"], ["follow", "run-1"], ["follow", "run-3"], ["run", "SCENARIO"],
    ["run", "SCENARIO", "--detach"],
    ["compare", "a", "b"], ["models", "list"], ["limits", "list"], ["limits", "put", "n", "window"],
    ["limits", "delete", "n"], ["keys", "create", "n", "--budget", "1"], ["report", "run-2"],
    ["audit", "model", "m", "--data", "digits"], ["load", "--run", "run-1"], ["scenario", "check", "EVIL"],
    ["trace", "run-1", "--from", "TRACES"], ["run", "EVIL"],
)  # fmt: skip


@pytest.mark.parametrize("asked", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("as_json", [False, True])
def test_no_command_lets_others_steer_the_terminal(
    asked: list[str], as_json: bool, hostile: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "SCENARIO").write_text(SCENARIO)
    (tmp_path / "EVIL").write_text(f"name: mistaken\ndata: {json.dumps(SENT)}\n")
    (tmp_path / "TRACES").mkdir()
    span = {
        **dict.fromkeys(("span", "trace", "party", "name", "error"), SENT), "at": 1.0, "seconds": 1.0,
        "parent": None, "links": [], "attributes": {"run": "run-1", "model": SENT, "trial": SENT},
    }  # fmt: skip
    (tmp_path / "TRACES" / "party.jsonl").write_text(json.dumps(span) + "\n")
    places = {name: str(tmp_path / name) for name in ("SCENARIO", "EVIL", "TRACES")}
    command = [places.get(part, part) for part in asked]
    if as_json:
        command.append("--json")
    done: Result = CliRunner().invoke(app, command, env=hostile)
    output = done.stdout + done.stderr + str(done.exception or "")
    if "No such option" in output:
        assert as_json
        return
    printed = _printed(done)
    assert steers(printed) == set()
    if not as_json:
        assert "hint: run it" not in printed.splitlines()


def test_a_run_that_failed_ends_with_what_to_do(hostile: dict[str, str]) -> None:
    last = _printed(CliRunner().invoke(app, ["follow", "run-1"], env=hostile)).splitlines()[-2:]
    assert "error: The run failed." in last[0]
    assert "start the run again" in last[1]
    assert "leakrange status" in last[1]


def _printed(done: Result) -> str:
    """All that it printed, an error as the command prints it."""
    if done.exception is None or isinstance(done.exception, SystemExit):
        return done.stdout + done.stderr
    from leakrange.clients.cli.exits import CliError, refusal
    from leakrange.wire.errors import LeakrangeError

    error = done.exception
    assert isinstance(error, CliError | LeakrangeError), repr(error)
    shown = Console(record=True, stderr=True, highlight=False, soft_wrap=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(console, "screen", shown)
        console.problem(error if isinstance(error, CliError) else refusal(error))
    return (
        done.stdout
        + done.stderr
        + shown.export_text(styles=True)
        .replace("\x1b[1;31m", "")
        .replace("\x1b[1m", "")
        .replace("\x1b[0m", "")
    )


def test_bars_say_messages_as_they_are() -> None:
    shown = Console(record=True, force_terminal=True, width=200, color_system=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "screen", shown)
        bars = progress._Bars()
        from leakrange.client import Event
        from leakrange.wire.runs import RunView

        bars.view(RunView.model_validate({**RUN, "jobs": {SENT: {"total": 2}, "fit": {"total": 2}}}))
        bars.event(Event(1, "job.done", {"kind": "fit", "message": SENT}))
        shown.print(bars._progress.get_renderable())
        bars.event(Event(2, "job.done", {"kind": "fit", "message": "[red]y[/nothing]"}))
        shown.print(bars._progress.get_renderable())
    text = shown.export_text()
    assert steers(text) == set()
    assert "[red]y[/nothing]" in text


@given(st.text(), st.text(st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp"))))
def test_what_steers_is_shown_and_the_rest_stays(text: str, harmless: str) -> None:
    assert steers(console.plain(text)) | {"\n"}.intersection(console.plain(text)) == set()
    assert console.plain(harmless) == harmless
    assert console.plain("a\nb\tc\x1b", lines=True) == "a\nb\tc\\x1b"


@pytest.mark.parametrize("terminal", [True, False])
def test_a_file_gets_csv_as_it_is(
    terminal: bool, hostile: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.TextIOWrapper(io.BytesIO(), newline="", write_through=True)
    monkeypatch.setattr(written, "isatty", lambda: terminal, raising=False)
    monkeypatch.setattr("sys.stdout", written)
    for name, value in hostile.items():
        monkeypatch.setenv(name, value)
    app(["compare", "a", "b", "--csv"], standalone_mode=False)
    written.seek(0)
    printed = written.read()
    if terminal:
        assert steers(printed) == set()
    else:
        assert printed == EVIL.encode(errors="surrogatepass").decode(errors="replace")


WHOLE = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.recursive(WHOLE | st.none() | st.integers(-9, 9), lambda each: st.lists(each, max_size=3)))
def test_json_says_the_same(value: Any) -> None:
    written = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", written)
        console.print_json(value)
    assert json.loads(written.getvalue()) == value
    assert steers(written.getvalue()) == set()


def test_only_one_module_prints() -> None:
    folder = Path(console.__file__).parent
    prints = {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute | ast.Call) and ast.unparse(node).startswith(PRINTING)
    }
    # The supervisor of an embedded range writes its own log.
    assert prints == {"console.py", "embedded/__main__.py"}


PRINTING = ("sys.stdout", "sys.stderr", "print(", "typer.echo", "typer.secho", "Console(")
