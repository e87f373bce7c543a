"""Requests and responses of a model, as a serving system logs them, joined by their id."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from leakrange.clients.cli.answer_file import AnswerFile, harmless
from leakrange.wire.cloudevents import CloudEvent
from leakrange.wire.errors import InvalidInput, LeakrangeError
from leakrange.wire.inference_logs import REQUEST, RESPONSE, joined_rows

__all__ = ["AnswerLog", "RecordedCounts"]

REMEMBERED = 100_000
"""Ids of requests that are done with: later events of these are duplicates."""


@dataclass
class RecordedCounts:
    """Samples that were ``recorded``; and events: ``duplicates``; ``dropped``, whose other half did not come
    in time, or for which there was no room; ``refused``, which give no row; ``waiting`` for the other."""

    recorded: int = 0
    duplicates: int = 0
    dropped: int = 0
    refused: int = 0
    waiting: int = 0


@dataclass(frozen=True)
class _Half:
    kind: str
    data: bytes
    since: float


class AnswerLog:
    """Writes to ``file`` what belongs together. A half waits for the other for ``wait`` seconds; at most
    ``most`` halves do, of ``most_bytes`` together. Raises `InvalidInput` for a file that cannot be read."""

    def __init__(
        self,
        file: AnswerFile,
        *,
        wait: float = 60.0,
        most: int = 10_000,
        most_bytes: int = 64 * 2**20,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.counts = RecordedCounts()
        self._file, self._wait, self._most, self._most_bytes = file, wait, most, most_bytes
        self._clock = clock
        self._halves: OrderedDict[str, _Half] = OrderedDict()
        self._bytes = 0
        self._done: OrderedDict[str, None] = OrderedDict()
        for id in file.requests():
            self._remember(id)

    def take(self, event: CloudEvent) -> None:
        """Take half of a request: rows are written with the second. Raises `InvalidInput` or `MalformedBody`
        for what is no such event, or gives no row of this file; `StorageFull`: then it may come again."""
        self.expire()
        if event.type not in (REQUEST, RESPONSE):
            self.counts.refused += 1
            raise InvalidInput(f"events of the type {event.type!r} are not recorded")
        first = self._halves.get(event.id)
        if harmless(event.id) in self._done or (first is not None and first.kind == event.type):
            self.counts.duplicates += 1
        elif first is None:
            self._keep(event)
        else:
            self._join(event, first)
        self.counts.waiting = len(self._halves)

    def expire(self) -> None:
        """Drop the halves that have waited too long."""
        while self._halves and self._clock() - next(iter(self._halves.values())).since > self._wait:
            self._drop()
        self.counts.waiting = len(self._halves)

    def _keep(self, event: CloudEvent) -> None:
        self._halves[event.id] = _Half(event.type, event.data, self._clock())
        self._bytes += len(event.data)
        while len(self._halves) > self._most or self._bytes > self._most_bytes:
            self._drop()

    def _drop(self) -> None:
        _, half = self._halves.popitem(last=False)
        self._bytes -= len(half.data)
        self.counts.dropped += 1

    def _join(self, event: CloudEvent, first: _Half) -> None:
        request, response = (event.data, first.data) if event.type == REQUEST else (first.data, event.data)
        try:
            rows = joined_rows(request, response)
            self._file.check(rows[0])
        except LeakrangeError:
            self.counts.refused += 2
            self._end(event.id)
            raise
        self._file.append(event.id, rows)
        self._end(event.id)
        self.counts.recorded += len(rows)

    def _end(self, id: str) -> None:
        self._bytes -= len(self._halves.pop(id).data)
        self._remember(str(harmless(id)))

    def _remember(self, id: str) -> None:
        self._done[id] = None
        if len(self._done) > REMEMBERED:
            self._done.popitem(last=False)
