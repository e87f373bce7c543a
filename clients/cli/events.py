"""A run's events as they come (server-sent events); a stream that breaks off is resumed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from clients.cli.connection import Connection, raise_problem
from clients.cli.exits import CliError, Exit

__all__ = ["Event", "follow", "parse"]

GIVE_UP_SECONDS = 60.0
"""How long a controller that does not answer is asked again; a restart takes a few seconds. An open stream
without a line is no answer, since a controller that hangs may still accept connections."""
QUIET_SECONDS = 45.0
"""The controller sends a comment every 15 s."""


@dataclass(frozen=True)
class Event:
    """One event: its number in the run, what happened, and the particulars."""

    seq: int
    kind: str
    data: dict[str, Any]


def parse(lines: Iterable[str]) -> Iterator[Event]:
    """The complete events of a stream's lines; comments are skipped."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            if name:
                fields[name] = value.removeprefix(" ")
        elif {"id", "event", "data"} <= fields.keys():
            yield Event(int(fields["id"]), fields["event"], orjson.loads(fields["data"]))
            fields = {}
        else:
            fields = {}


def follow(connection: Connection, run: str) -> Iterator[Event]:
    """All events of ``run`` from the first to ``run.finished``. Raises `CliError` where the controller
    refuses or stays away.
    """
    seen = 0
    failing_since: float | None = None

    def heard() -> None:
        nonlocal failing_since
        failing_since = None

    while True:
        try:
            for event in _stream(connection, run, seen, heard):
                seen = event.seq
                yield event
                if event.kind == "run.finished":
                    return
        except httpx.TransportError as error:
            now = time.monotonic()
            failing_since = now if failing_since is None else failing_since
            if now - failing_since > GIVE_UP_SECONDS:
                raise CliError(
                    f"the controller at {connection.controller} stopped answering: {error}",
                    code=Exit.UNREACHABLE,
                    hint=f"the run goes on once it is back: 'leakrange follow {run}'",
                ) from error
        time.sleep(0.5)  # the stream broke off, or the controller is restarting


def _stream(connection: Connection, run: str, after: int, heard: Callable[[], None]) -> Iterator[Event]:
    """The events after number ``after``; calls ``heard`` for each line, comments of a quiet run included."""
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
    timeout = httpx.Timeout(10.0, read=QUIET_SECONDS)
    url = f"{connection.controller}/v1/runs/{run}/events"
    with httpx.stream("GET", url, headers=headers, timeout=timeout, trust_env=not connection.local) as answer:
        if answer.status_code >= 500:
            raise httpx.ReadError(f"answered {answer.status_code}")
        raise_problem(answer)
        yield from parse(_told(answer.iter_lines(), heard))
    heard()  # it ended in order, perhaps without a line


def _told(lines: Iterable[str], heard: Callable[[], None]) -> Iterator[str]:
    for line in lines:
        heard()
        yield line
