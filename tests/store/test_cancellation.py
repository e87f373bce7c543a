"""A task that is cancelled anywhere in a transaction leaves no lock behind, and no half of its changes."""

import asyncio

from sqlalchemy import func, select

from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.runs import RunStore
from leakrange.store.tables import EventRow


async def test_cancelled_anywhere_a_transaction_happens_as_a_whole_or_not_at_all(database: Database) -> None:
    async with database.write() as session:
        run = (await RunStore(session).create("demo", scenario_yaml="", scenario={})).id

    async def twice() -> None:
        async with database.write() as session:
            await Events(session).append(run, "first", {})
            await Events(session).append(run, "second", {})

    for patience in range(30):
        task = asyncio.create_task(twice())
        for _ in range(patience):
            await asyncio.sleep(0)
        task.cancel()
        [ended] = await asyncio.gather(task, return_exceptions=True)
        assert ended is None or isinstance(ended, asyncio.CancelledError)
        async with asyncio.timeout(10):  # a lock that was left behind is waited for three times as long
            await twice()
    async with database.read() as session:
        counts = [
            await session.scalar(select(func.count()).where(EventRow.kind == kind))
            for kind in ("first", "second")
        ]
        assert counts[0] == counts[1] >= 30
        events = await Events(session).after(run)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))


async def test_a_cancellation_that_came_in_a_transaction_ends_the_task_behind_it(database: Database) -> None:
    entered, behind = asyncio.Event(), False

    async def work() -> None:
        nonlocal behind
        async with database.write() as session:
            entered.set()
            await RunStore(session).create("demo", scenario_yaml="", scenario={})
        behind = True

    task = asyncio.create_task(work())
    await entered.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    assert not behind


async def test_a_time_limit_around_a_transaction_is_told_as_such(database: Database) -> None:
    try:
        async with asyncio.timeout(0), database.write() as session:
            await RunStore(session).create("demo", scenario_yaml="", scenario={})
    except TimeoutError:
        pass
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0
    await asyncio.sleep(0)
