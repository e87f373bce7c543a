"""Reading a stream of server-sent events, also from a server that comes and goes."""

from __future__ import annotations

import asyncio
import gzip
import threading
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.client import events as module
from leakrange.client import http
from leakrange.client.events import Event, follow, parse
from leakrange.client.http import Http
from leakrange.wire.errors import Unavailable, UpstreamFailed
from leakrange.wire.events import JobDone, RunEvent, RunFinished, TrialEnded
from tests.proxy.servers import serve

events = st.lists(
    st.builds(
        Event,
        st.integers(1, 2**31),
        st.from_regex(r"[a-z]+\.[a-z]+", fullmatch=True),
        st.dictionaries(st.text(), st.text() | st.integers(-(2**53), 2**53) | st.none()),
    )
)


def lines(event: Event) -> list[str]:
    return [f"id: {event.seq}", f"event: {event.kind}", f"data: {orjson.dumps(event.data).decode()}", ""]


@given(events, st.integers(0, 3))
def test_whole_events_come_out_as_they_went_in_and_half_ones_not_at_all(
    sent: list[Event], missing: int
) -> None:
    stream: list[str] = []
    for event in sent:
        stream += [": still here", "", *lines(event)]
    cut = stream[: len(stream) - missing] if missing else stream
    whole = sent if missing == 0 or not sent else sent[:-1]
    assert list(parse(cut)) == whole


def test_an_event_without_a_number_has_that_of_the_one_before() -> None:
    """The end of a run that a controller cannot write down has none."""
    stream = [
        *lines(Event(4, "run.running", {})),
        "event: run.finished",
        'data: {"state": "failed"}',
        "",
    ]
    assert [event.seq for event in parse(stream)] == [4, 4]
    assert [event.seq for event in parse(stream[4:], after=7)] == [7]


@pytest.mark.parametrize(
    ("kind", "data", "what"),
    [
        ("run.finished", {"state": "failed"}, RunFinished(state="failed")),
        ("job.done", {"kind": "fit", "identity": "a", "new": 1}, JobDone(kind="fit", identity="a")),
        ("job.done", {"kind": "dance", "message": "hop"}, RunEvent(message="hop")),
        ("moon.risen", {"message": "full"}, RunEvent(message="full")),
    ],
)
def test_events_of_a_range_of_another_version_are_read_as_far_as_they_are_known(
    kind: str, data: dict[str, Any], what: RunEvent
) -> None:
    found = Event(1, kind, data).what
    assert (type(found), found) == (type(what), what)


def test_a_trial_that_ended_is_told_with_its_figures() -> None:
    members = dict.fromkeys(("trial", "provider", "behaviour", "defence", "attack", "knowledge"), "x")
    told = {**members, "budget": 9, "seed": 2, "leakage": "auc", "metrics": {"auc": 0.75}}
    event = Event(5, "trial.done", {"at": "2026-01-02T03:04:05+00:00", **told})
    assert isinstance(event.what, TrialEnded)
    assert event.what.metrics == {"auc": 0.75}
    assert (event.at.hour, event.at.tzname()) == (3, "UTC")


FIRST, LAST = Event(1, "run.started", {}), Event(2, "run.finished", {"state": "done"})


class Stream:
    """A run's events over HTTP: what is behind Last-Event-ID, then comments until the test breaks it off."""

    def __init__(self, *sent: Event, comments: bool = True) -> None:
        self.sent = sent
        self.comments = comments
        self.opened = threading.Event()
        self.broken = threading.Event()

    async def __call__(self, scope: Any, _receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        after = int(dict(scope["headers"])[b"last-event-id"])
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for event in self.sent:
            if event.seq > after:
                await self._say(send, *lines(event))
        self.opened.set()
        while not self.broken.is_set():
            if self.comments:
                await self._say(send, ": still here", "")
            await asyncio.sleep(0.05)
        # The answer is left unfinished, as by a process that was killed.

    async def _say(self, send: Any, *said: str) -> None:
        body = "".join(f"{line}\n" for line in said).encode()
        await send({"type": "http.response.body", "body": body, "more_body": True})


def at(url: str) -> Http:
    return Http(url, local=True)


def test_a_controller_that_restarts_after_a_long_quiet_time_is_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "GIVE_UP_SECONDS", 2.0)
    before, after = Stream(FIRST), Stream(FIRST, LAST)
    with ThreadPoolExecutor(1) as pool:
        with serve(before) as url:
            followed = pool.submit(lambda: list(follow(at(url), "run")))
            assert before.opened.wait(10)
            time.sleep(2.3)  # no event, only comments, for longer than a controller may stay away
            before.broken.set()
        with serve(after, port=int(url.rpartition(":")[2])):
            try:
                assert followed.result(timeout=10) == [FIRST, LAST]
            finally:
                after.broken.set()


def test_a_controller_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "GIVE_UP_SECONDS", 0.6)
    stream = Stream(FIRST)
    stream.broken.set()
    with serve(stream) as url:
        followed = follow(at(url), "run")
        assert next(followed) == FIRST
    gone = time.monotonic()
    with pytest.raises(Unavailable, match="stopped answering") as caught:
        next(followed)
    assert "follow run again" in str(caught.value.hint)
    assert time.monotonic() - gone > 0.6


def test_a_controller_that_opens_streams_but_never_says_a_word_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "GIVE_UP_SECONDS", 0.5)
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.2)
    stream = Stream(comments=False)
    with serve(stream) as url:
        try:
            with pytest.raises(Unavailable, match="stopped answering"):
                next(follow(at(url), "run"))
        finally:
            stream.broken.set()


@pytest.mark.parametrize(
    "line",
    [
        "id: x", "id: -1", "id: 1e3", "id: " + "9" * 5000, "id: \u0663", "data: [1]", "data: {", "data: 7",
        "data: null",
    ],
)  # fmt: skip
def test_what_is_no_event_is_refused(line: str) -> None:
    stream = ["id: 1", "event: run.started", "data: {}", line, ""]
    with pytest.raises(UpstreamFailed, match="no event of a run"):
        list(parse(stream))


def test_an_event_of_endless_fields_takes_no_memory() -> None:
    def endless() -> Iterator[str]:
        for number in range(300_000):
            yield f"field-{number}: {'x' * 100}"

    tracemalloc.start()
    assert list(parse(endless())) == []
    assert tracemalloc.get_traced_memory()[1] < 2**20
    tracemalloc.stop()


def test_a_line_that_does_not_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "LONGEST_LINE", 10_000)

    async def endless(scope: Any, _receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        headers = [(b"content-type", b"text/event-stream")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for _ in range(100):
            await send({"type": "http.response.body", "body": b"x" * 1000, "more_body": True})
        await asyncio.sleep(30)

    unending = pytest.raises(UpstreamFailed, match="does not end")
    with serve(endless) as url, closing(at(url)) as controller, unending:
        next(follow(controller, "run"))


@pytest.mark.parametrize("again", [(), (FIRST,)])
def test_a_run_whose_streams_end_again_and_again_is_given_up(
    monkeypatch: pytest.MonkeyPatch, again: tuple[Event, ...]
) -> None:
    """Without an event, or always with the same."""
    monkeypatch.setattr(module, "GIVE_UP_SECONDS", 1.0)
    asked = 0

    async def ending(scope: Any, _receive: Any, send: Any) -> None:
        nonlocal asked
        if scope["type"] == "http":
            asked += 1
            await send({"type": "http.response.start", "status": 200, "headers": []})
            sent = again if asked < 40 else (LAST,)  # whoever still asks then would ask for ever
            body = "".join(f"{line}\n" for event in sent for line in lines(event)).encode()
            await send({"type": "http.response.body", "body": body})

    endless = pytest.raises(UpstreamFailed, match="has no end")
    with serve(ending) as url, closing(at(url)) as controller, endless:
        list(follow(controller, "run"))


@pytest.mark.parametrize(("encoding", "reason"), [("gzip", "longer than"), ("br", "not read")])
def test_a_packed_answer_is_bounded(monkeypatch: pytest.MonkeyPatch, encoding: str, reason: str) -> None:
    monkeypatch.setattr(http, "MAX_ANSWER", 2**20)
    packed = gzip.compress(bytes(300 * 2**20))

    async def packing(scope: Any, _receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            headers = [(b"content-encoding", encoding.encode())]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": packed})

    with serve(packing) as url, closing(at(url)) as controller:
        tracemalloc.start()
        try:
            with pytest.raises(UpstreamFailed, match=reason):
                controller.get("/v1/runs")
            assert tracemalloc.get_traced_memory()[1] < 16 * 2**20
        finally:
            tracemalloc.stop()
