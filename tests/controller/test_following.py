"""Runs are followed by many at the price of one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable

import httpx
import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import event

from leakrange.services.controller import turns
from leakrange.services.controller.live import service as live_module
from leakrange.services.controller.live.service import LiveService
from leakrange.services.controller.live.state import RunState
from leakrange.services.controller.live.view import LiveView
from leakrange.services.controller.range.news import News
from leakrange.services.controller.runs import following as module
from leakrange.services.controller.runs.following import Following
from leakrange.services.controller.settings import ControllerSettings
from leakrange.store.engine import Database, DatabaseBusy
from leakrange.store.events import Events
from leakrange.store.runs import RunStore
from tests.controller.conftest import SCENARIO, Api, problem, serve
from tests.controller.events import events
from tests.controller.parties import put_planned
from tests.controller.test_graph import planned
from tests.databases import Databases

FOLLOWERS = 60


@pytest.fixture(params=["sqlite", "postgresql"])
async def database(databases: Databases, request: pytest.FixtureRequest) -> AsyncIterator[Database]:
    opened = Database(databases.migrated(request.param))
    yield opened
    await opened.close()


async def put(database: Database, count: int, *, over: bool = True) -> str:
    """A run with so many events after the first."""
    async with database.write() as session:
        run = await RunStore(session).create("many", scenario_yaml=SCENARIO, scenario={})
        await put_planned(session, run.id, planned(SCENARIO))
        await RunStore(session).move(run.id, "running")
        for number in range(count):
            await Events(session).append(run.id, "run.running", {"message": f"event {number}"})
        if over:
            await RunStore(session).move(run.id, "done")
        return run.id


def counted(database: Database, table: str) -> list[str]:
    """The questions about a table from now on."""
    asked: list[str] = []

    def note(_c: object, _cursor: object, statement: str, *_more: object) -> None:
        if f"FROM {table}" in statement:
            asked.append(statement)

    event.listen(database.engine.sync_engine, "before_cursor_execute", note)
    return asked


async def heard(following: Following, run: str, after: int = 0) -> bytes:
    return b"".join([piece async for piece in following.follow(run, after)])


async def test_many_replays_are_read_once(database: Database) -> None:
    run = await put(database, 2 * module.A_BLOCK + 30)
    following = Following(database, News(database, CollectorRegistry()), {})
    asked = counted(database, "events")
    everything = await asyncio.gather(*(heard(following, run) for _ in range(FOLLOWERS)))
    assert len(set(everything)) == 1
    assert everything[0].count(b"\ndata: ") == 2 * module.A_BLOCK + 30
    # Three blocks; and each follower looks once more whether anything came, before the end.
    assert len(asked) <= 3 + FOLLOWERS
    del asked[:]
    half = await asyncio.gather(*(heard(following, run, each) for each in range(FOLLOWERS)))
    assert len(asked) <= FOLLOWERS
    for number, each in enumerate(half):
        assert everything[0].endswith(each)
        assert each.count(b"\ndata: ") == 2 * module.A_BLOCK + 30 - number


async def test_an_event_is_read_once_for_all_who_wait_for_it(database: Database) -> None:
    run = await put(database, 1, over=False)
    news = News(database, CollectorRegistry())
    following = Following(database, news, {})
    streams = [following.follow(run, 0) for _ in range(FOLLOWERS)]
    for each in streams:
        assert b"event 0" in await anext(each)
    asked = counted(database, "events")
    waiting = [asyncio.ensure_future(anext(each)) for each in streams]
    while len(asked) < FOLLOWERS or following._reading.locked():  # noqa: ASYNC110  # each looks once more
        await asyncio.sleep(0.001)
    del asked[:]
    await news.tell(run, "run.running", {"message": "event 1"})
    pieces = await asyncio.gather(*waiting)
    assert all(b"event 1" in each for each in pieces)
    assert len(asked) == 1
    following.close()
    for each in streams:
        await each.aclose()  # type: ignore[attr-defined]  # it is a generator


async def test_blocks_that_nobody_asks_for_are_forgotten(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "A_BLOCK", 10)
    monkeypatch.setattr(module, "KEPT", 3)
    run = await put(database, 95)
    following = Following(database, News(database, CollectorRegistry()), {})
    first = await heard(following, run)
    assert len(following._blocks) == 3
    assert await heard(following, run) == first
    # Beyond the end there is nothing to keep.
    assert await heard(following, run, 2**31 - 1) == b""
    assert len(following._blocks) == 3


async def test_a_quiet_stream_shows_that_it_lives(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUIET", 0.05)
    run = await put(database, 1, over=False)
    following = Following(database, News(database, CollectorRegistry()), {})
    stream = following.follow(run, 1)
    assert [await anext(stream) for _ in range(3)] == [b": ping\n\n"] * 3
    following.close()
    assert [piece async for piece in stream] == []


async def test_a_moment_is_drawn_once_for_all_who_look(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_module, "EVERY", 3600.0)
    drawn = []

    def draw(state: RunState, shown: LiveView) -> dict[str, str]:
        drawn.append(state.seq)
        return {"said": f"{state.seq} {len(shown.text)}"}

    run = await put(database, 3)
    live = LiveService(database, News(database, CollectorRegistry()), draw)
    moments = await asyncio.gather(*(live.moment(run) for _ in range(FOLLOWERS)))
    assert drawn == [3]
    assert len({id(each) for each in moments}) == 1
    assert await live.drawn(run, lambda moment: moment.parts["said"].split()[0]) == "3"
    assert drawn == [3]


async def test_large_runs_are_forgotten_first_come_first(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = len(planned(SCENARIO).trials)
    monkeypatch.setattr(live_module, "MOST_TRIALS", 2 * trials)
    live = LiveService(database, News(database, CollectorRegistry()), lambda *_: {})
    runs = [await put(database, 1) for _ in range(4)]
    for run in runs:
        await live.moment(run)
    assert list(live._runs) == runs[-2:]
    await asyncio.gather(*(live.moment(run) for run in runs))
    assert len(live._runs) <= 2


async def test_who_finds_all_connections_taken_is_told_to_ask_again(database: Database) -> None:
    database.engine.pool._timeout = 0.05  # type: ignore[attr-defined]  # of a pool that is made by the URL

    async def take_all(depth: int = 0) -> None:
        assert depth < 100
        async with database.read():
            await take_all(depth + 1)

    with pytest.raises(DatabaseBusy) as caught:
        await take_all()
    assert (caught.value.status, caught.value.retry_after) == (503, 1.0)
    async with database.read() as session:
        assert await RunStore(session).tally() == {}


def test_only_so_many_follow(
    settings: Callable[..., ControllerSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "VIEWERS", 2)
    with serve(settings()) as url, httpx.Client(base_url=url, timeout=90) as client:
        api = Api(client)
        run = api.start()
        streams = [events(client, run) for _ in range(2)]
        for each in streams:
            next(each)
        for path in (f"/v1/runs/{run}/events", f"/runs/{run}/live"):
            refused = problem(api.ask("GET", path), 503, "unavailable")
            assert "too many follow" in refused["detail"]
        streams[0].close()  # type: ignore[attr-defined]  # it is a generator
        while not _admitted(client, run):  # the server hears of it in a moment
            pass
        api.cancel(run)
        list(streams[1])


def _admitted(client: httpx.Client, run: str) -> bool:
    with client.stream("GET", f"/v1/runs/{run}/events") as answer:
        return answer.status_code == 200
