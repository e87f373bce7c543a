"""Events: numbered without a gap whoever writes, and never seen out of order."""

import asyncio

import pytest

from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.runs import RunStore
from leakrange.wire.errors import NotFound
from tests.store.test_runs import create

WRITERS, EACH = 8, 12


async def test_numbers_have_no_gap_whoever_writes(database: Database) -> None:
    run_id, other = await create(database), await create(database)

    async def write(writer: int) -> None:
        for number in range(EACH):
            try:
                async with database.write() as session:
                    await Events(session).append(run_id, "job.done", {"writer": writer, "number": number})
                    if number % 4 == 3:
                        raise RuntimeError("rolled back")
            except RuntimeError:
                continue

    finished = asyncio.Event()
    seen: list[int] = []

    async def read() -> None:
        while True:
            last = finished.is_set()
            async with database.read() as session:
                seen.extend(e.seq for e in await Events(session).after(run_id, seen[-1] if seen else 0))
            if last:
                return
            await asyncio.sleep(0)

    reader = asyncio.create_task(read())
    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    finished.set()
    await reader
    # A reader that asks for what follows the last one it saw has missed nothing: none appeared late.
    assert seen == list(range(1, WRITERS * EACH * 3 // 4 + 1))
    async with database.read() as session:
        events = await Events(session).after(run_id)
        for writer in range(WRITERS):
            numbers = [e.data["number"] for e in events if e.data["writer"] == writer]
            assert numbers == sorted(numbers)
        assert list(await Events(session).after(other)) == []


async def test_a_transaction_may_read_before_it_writes_whoever_else_writes(database: Database) -> None:
    run_id = await create(database)

    async def read_then_write(number: int) -> None:
        async with database.write() as session:
            await RunStore(session).get(run_id)
            await asyncio.sleep(0.01)  # time for the others to write in between
            await Events(session).append(run_id, "tick", {"number": number})

    await asyncio.gather(*(read_then_write(number) for number in range(8)))
    async with database.read() as session:
        assert {e.data["number"] for e in await Events(session).after(run_id)} == set(range(8))


async def test_events_are_replayed_from_any_number(database: Database) -> None:
    run_id = await create(database)
    async with database.write() as session:
        for number in range(5):
            await Events(session).append(run_id, "tick", {"n": number})
    async with database.read() as session:
        assert [e.seq for e in await Events(session).after(run_id, 3)] == [4, 5]
        assert [e.seq for e in await Events(session).after(run_id, limit=2)] == [1, 2]
    with pytest.raises(NotFound):
        async with database.write() as session:
            await Events(session).append("no such run", "tick", {})
