"""The events of runs as streams: read and written out once, however many follow."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from typing import Any

import orjson
from fastapi.sse import format_sse_event

from leakrange.services.controller.range.news import News
from leakrange.store.engine import Database, DatabaseAway
from leakrange.store.events import Events
from leakrange.store.runs import FINAL, RunStore
from leakrange.wire.runs import State

__all__ = ["Following"]

A_BLOCK = 200
"""The number of events that are read, kept and sent together."""
KEPT = 200
"""The number of blocks that are kept: those last asked for."""
TOGETHER = 0.05
"""The seconds whose events are read together when events come fast."""
QUIET = 15.0
"""Seconds without an event after which a comment shows that the stream lives."""
AWAY = 1.0
"""Seconds after which a database that did not answer is asked again."""
COMMENT = b": ping\n\n"


class Following:
    """The event streams of this range's runs. ``unrecorded`` are the failed runs, with the reason, whose end
    cannot be written down. One per controller."""

    def __init__(self, database: Database, news: News, unrecorded: Mapping[str, str]) -> None:
        self._database, self._news, self._unrecorded = database, news, unrecorded
        self._blocks: OrderedDict[tuple[str, int], list[bytes]] = OrderedDict()
        # Followers together take one connection to the database: a run that goes on needs others.
        self._reading = asyncio.Lock()
        self._closing = False

    async def follow(self, run: str, after: int) -> AsyncIterator[bytes]:
        """The events of a run after number ``after`` as server-sent events, until it is finished or the
        controller shuts down. A block of events comes as one piece."""
        while not self._closing:
            change = self._news.next_change(run)
            try:
                events, state = await self._next(run, after)
            except DatabaseAway:  # an answer that has begun can end in no error: it goes on later
                yield COMMENT
                await asyncio.sleep(AWAY)
                continue
            if events:
                after += len(events)
                yield b"".join(events)
                continue
            if state in FINAL:
                return
            if (reason := self._unrecorded.get(run)) is not None:
                yield _written("run.finished", datetime.now(UTC), state="failed", message=reason)
                return
            while not change.is_set():
                try:
                    async with asyncio.timeout(QUIET):
                        await change.wait()
                except TimeoutError:
                    yield COMMENT
                else:
                    await asyncio.sleep(TOGETHER)

    def close(self) -> None:
        """End all streams, because the controller shuts down."""
        self._closing = True
        self._news.announce_all()

    async def _next(self, run: str, after: int) -> tuple[list[bytes], State | None]:
        """Events that follow number ``after``, at most a block; if there are none, the run's state."""
        place, first = divmod(after, A_BLOCK)
        if events := self._block(run, place)[first:]:
            return events, None
        async with self._reading:
            block = self._block(run, place)
            if len(block) > first:  # somebody else has read them meanwhile
                return block[first:], None
            async with self._database.read() as session:
                # In this order: no event is written after the state that ends a run.
                state = (await RunStore(session).get(run)).state
                more = await Events(session).after(
                    run, place * A_BLOCK + len(block), limit=A_BLOCK - len(block)
                )
            if more:
                block = block + [_written(each.kind, each.at, str(each.seq), **each.data) for each in more]
                self._blocks[run, place] = block
                while len(self._blocks) > KEPT:
                    self._blocks.popitem(last=False)
            return block[first:], state

    def _block(self, run: str, place: int) -> list[bytes]:
        block = self._blocks.get((run, place), [])
        if block:
            self._blocks.move_to_end((run, place))
        return block


def _written(kind: str, at: datetime, number: str | None = None, /, **data: Any) -> bytes:
    text = orjson.dumps({"at": at.isoformat(), **data}).decode()
    return format_sse_event(data_str=text, event=kind, id=number)
