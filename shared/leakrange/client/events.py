"""A run's events as they come (server-sent events); a stream that breaks off is resumed."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from pydantic import ValidationError

from leakrange.client.http import Http
from leakrange.wire.errors import Unavailable, UpstreamFailed
from leakrange.wire.events import EVENTS, RunEvent

__all__ = ["LAST", "Event", "follow", "parse"]

LAST = "run.finished"
FIELDS = ("id", "event", "data")

GIVE_UP_SECONDS = 60.0
"""How long a controller that does not answer is asked again; a restart takes a few seconds. An open stream
without a line is no answer, since a controller that hangs may still accept connections."""
QUIET_SECONDS = 45.0
"""The controller sends a comment every 15 s."""


@dataclass(frozen=True)
class Event:
    """One event of a run: its number ``seq``, its ``kind`` (a key of `leakrange.wire.events.EVENTS`), and the
    ``data`` that was sent with it."""

    seq: int
    kind: str
    data: dict[str, Any]

    @property
    def at(self) -> datetime:
        """When it happened, in UTC."""
        return datetime.fromisoformat(self.data["at"])

    @property
    def message(self) -> str:
        """What happened, for people."""
        return str(self.data.get("message", self.kind))

    @property
    def what(self) -> RunEvent:
        """The data as the schema of its kind, e.g. a `TrialEnded`; a plain `RunEvent` if a range of another
        version sends something else. Unknown members are left out."""
        schema = EVENTS.get(self.kind, RunEvent)
        known = {name: value for name, value in self.data.items() if name in schema.model_fields}
        try:
            return schema.model_validate(known)
        except ValidationError:
            return RunEvent(message=self.message)


def parse(lines: Iterable[str], after: int = 0) -> Iterator[Event]:
    """Parse the complete events of a stream's lines; comments and unknown fields are skipped. An event
    without a number gets that of the event before it, the first one ``after``. Raises `UpstreamFailed` for
    anything but an event of a run."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            if name in FIELDS:
                fields[name] = value.removeprefix(" ")
            continue
        if {"event", "data"} <= fields.keys():
            event = _event(fields, after)
            after = event.seq
            yield event
        fields = {}


def _event(fields: Mapping[str, str], after: int) -> Event:
    number = fields.get("id", str(after))
    try:
        data = orjson.loads(fields["data"])
    except orjson.JSONDecodeError:
        data = None
    if not isinstance(data, dict) or re.fullmatch("[0-9]{1,10}", number) is None:
        raise UpstreamFailed("the stream holds what is no event of a run", hint="is this a range?")
    return Event(int(number), fields["event"], data)


def follow(controller: Http, run: str) -> Iterator[Event]:
    """Yield all events of ``run`` from the first to ``run.finished``. Raises the errors of the controller,
    and `Unavailable` if it stays away."""
    stream = _Stream(controller, run)
    while True:
        seen = stream.seen
        try:
            for event in stream.events():
                yield event
                if event.kind == LAST:
                    return
        except Unavailable as error:
            if stream.silent() > GIVE_UP_SECONDS:
                raise Unavailable(
                    f"the controller at {controller.url} stopped answering: {error.detail}",
                    hint=f"the run goes on once it is back: follow {run} again",
                ) from error
        else:
            if stream.seen == seen and stream.ended_empty() > GIVE_UP_SECONDS:
                raise UpstreamFailed(
                    f"the controller at {controller.url} ends the run's stream again and again, and the run"
                    " has no end",
                    hint=f"'leakrange runs' shows its state: follow {run} again",
                )
        time.sleep(0.5)  # the stream broke off, or the controller is restarting


class _Stream:
    """The state of following a run: its last event, and since when nobody answers."""

    def __init__(self, controller: Http, run: str) -> None:
        self._controller, self._path = controller, f"/v1/runs/{run}/events"
        self.seen = 0
        """The number of the last event."""
        self._failing_since: float | None = None
        self._empty_since: float | None = None

    def silent(self) -> float:
        """Return the seconds from the first failure after the last line until now."""
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        return now - self._failing_since

    def ended_empty(self) -> float:
        """Return the seconds since which streams have ended in order without an event."""
        now = time.monotonic()
        if self._empty_since is None:
            self._empty_since = now
        return now - self._empty_since

    def events(self) -> Iterator[Event]:
        """Yield the events that were not seen yet, until the stream ends or breaks off."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(self.seen)}
        with self._controller.lines(self._path, headers, quiet=QUIET_SECONDS) as lines:
            for event in parse(self._heard(lines), self.seen):
                if event.seq > self.seen:
                    self.seen, self._empty_since = event.seq, None
                yield event
        self._failing_since = None  # it ended in order, perhaps without a line

    def _heard(self, lines: Iterable[str]) -> Iterator[str]:
        for line in lines:
            self._failing_since = None  # comments of a quiet run included
            yield line
