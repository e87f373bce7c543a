"""Runs: states move one way, pages miss nothing, deletion leaves nothing behind."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from leakrange.jobs.steps.stream import SessionReply
from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.jobs import Jobs
from leakrange.store.loads import Loads
from leakrange.store.runs import Order, RunStore
from leakrange.store.served import ServedModelStore
from leakrange.store.tables import Base, EventRow, JobRow, RunRow, TrialRow, TruthRow
from leakrange.store.trials import Ledger, Trials, Truths
from leakrange.wire.errors import InvalidInput, NotFound


async def create(database: Database, name: str = "demo") -> str:
    async with database.write() as session:
        run = await RunStore(session).create(name, scenario_yaml="name: demo\n", scenario={"z": 1, "a": 2})
        await RunStore(session).put_plan(run.id, {"form": 2})
        return run.id


def told(number: int) -> SessionReply:
    """What an edge client registers of one sample whose class and decision have that number."""
    return SessionReply(
        upload="u", samples=1, decisions=[number], labels={"y": [number]}, input_bytes=9, sent_bytes=3
    )


async def test_a_run_is_kept_as_it_was_given(database: Database) -> None:
    before = datetime.now(UTC)
    run_id = await create(database)
    async with database.read() as session:
        run = await RunStore(session).get(run_id)
        assert (run.name, run.state, run.error) == ("demo", "queued", None)
        assert list(run.scenario) == ["z", "a"]  # in its author's order
        assert run.created.tzinfo is not None
        assert before <= run.created <= datetime.now(UTC)
        assert await RunStore(session).plan(run_id) == {"form": 2}
        with pytest.raises(NotFound):
            await RunStore(session).get("no such run")
        with pytest.raises(NotFound):
            await RunStore(session).plan("no such run")


async def test_states_move_one_way_and_once(database: Database) -> None:
    run_id = await create(database)
    async with database.write() as session:
        runs = RunStore(session)
        assert await runs.move(run_id, "running")
        assert not await runs.move(run_id, "running")
        assert await runs.move(run_id, "done")
        assert not await runs.move(run_id, "cancelled")
        assert not await runs.move("no such run", "cancelled")
        run = await runs.get(run_id)
        assert run.state == "done"
        assert run.started is not None
        assert run.finished is not None
        assert run.seconds == pytest.approx((run.finished - run.started).total_seconds())


async def test_of_several_that_move_a_run_one_does(database: Database) -> None:
    run_id = await create(database)

    async def move() -> bool:
        async with database.write() as session:
            return await RunStore(session).move(run_id, "running")

    assert sum(await asyncio.gather(*(move() for _ in range(10)))) == 1


async def test_pages_give_every_run_once_newest_first(database: Database) -> None:
    made = [await create(database, f"run-{i}") for i in range(7)]
    seen: list[str] = []
    after: str | None = None
    async with database.read() as session:
        while True:
            rows, after = await RunStore(session).page(limit=3, after=after)
            seen += [run.id for run in rows]
            if after is None:
                break
        assert seen == made[::-1]
        with pytest.raises(InvalidInput, match="after"):
            await RunStore(session).page(after="no such run")


async def test_what_is_unfinished_comes_back_oldest_first(database: Database) -> None:
    first, second, third = [await create(database) for _ in range(3)]
    async with database.write() as session:
        await RunStore(session).move(second, "cancelled")
        await RunStore(session).move(third, "running")
    async with database.read() as session:
        assert [run.id for run in await RunStore(session).unfinished()] == [first, third]


async def test_deleting_a_run_leaves_nothing_of_it(database: Database) -> None:
    run_id, other = await create(database), await create(database)
    async with database.write() as session:
        for each in (run_id, other):
            await Jobs(session).add(each, [("a", "train", {})])
            await Events(session).append(each, "run.queued", {})
            await Trials(session).add(each, [("t", {})])
            await Truths(session).add(each, "u", told(1))
            await Ledger(session).open(each, "k", policy="p", budget=1)
            await ServedModelStore(session).add(each, "m", "honest")
            await Loads(session).put(each, "part", {})
    async with database.write() as session:
        await session.delete(await RunStore(session).get(run_id))
    async with database.read() as session:
        for table in Base.metadata.tables.values():
            if "run_id" in table.columns:
                left = await session.scalar(select(func.count()).select_from(table))
                assert left == 1, table.name


async def test_rows_of_no_run_are_refused(database: Database) -> None:
    for row in (
        JobRow(run_id="none", identity="a", kind="train", payload={}),
        EventRow(run_id="none", seq=1, kind="a", data={}),
        TrialRow(run_id="none", trial="a", result={}),
        TruthRow(run_id="none", upload="a", labels={}, decisions=[]),
    ):
        with pytest.raises(IntegrityError):
            async with database.write() as session:
                session.add(row)


async def test_states_nobody_knows_are_refused(database: Database) -> None:
    with pytest.raises(IntegrityError):
        async with database.write() as session:
            session.add(RunRow(name="a", id="a", scenario_yaml="", scenario={}, state="resting"))  # type: ignore[arg-type]


async def test_figures_that_are_no_numbers_are_stored_as_null(database: Database) -> None:
    run_id = await create(database)
    async with database.write() as session:
        await Trials(session).add(run_id, [("t", {})])
        figures = {"state": "done", "auc": float("nan"), "nag": float("inf"), "ok": 0.5}
        await Trials(session).put(run_id, {"t": (figures, 0.5)})
    async with database.read() as session:
        assert await Trials(session).of_run(run_id) == [
            {"state": "done", "auc": None, "nag": None, "ok": 0.5}
        ]


async def test_a_failed_transaction_leaves_nothing(database: Database) -> None:
    async def fail() -> None:
        async with database.write() as session:
            await RunStore(session).create("demo", scenario_yaml="", scenario={})
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        await fail()
    async with database.read() as session:
        assert (await RunStore(session).page())[0] == []


async def test_a_table_is_narrowed_sorted_and_counted(database: Database) -> None:
    names = ("Beard", "adult", "100%", "beards")
    made = {name: await create(database, name) for name in names}
    async with database.write() as session:
        for name, rank in (("adult", 0.25), ("Beard", 5.5)):
            await RunStore(session).move(made[name], "running")
            await RunStore(session).move(made[name], "done", leak={"grade": "E", "rank": rank})

    async def table(by: Order, down: bool, **more: Any) -> tuple[list[str], int]:
        async with database.read() as session:
            rows, total = await RunStore(session).sorted(by, down=down, **{"limit": 9, "start": 0} | more)
            return [row.name for row in rows], total

    assert await table("created", True) == (["beards", "100%", "adult", "Beard"], 4)
    assert await table("name", False) == (["100%", "adult", "Beard", "beards"], 4)
    assert await table("leak", True) == (["Beard", "adult", "beards", "100%"], 4)  # what has none is last
    assert await table("leak", False) == (["adult", "Beard", "beards", "100%"], 4)
    assert await table("created", True, text="BEARD") == (["beards", "Beard"], 2)
    assert await table("created", True, text="%") == (["100%"], 1)
    assert await table("created", True, text=made["adult"]) == (["adult"], 1)
    assert await table("name", False, state="done") == (["adult", "Beard"], 2)
    assert await table("name", False, limit=2, start=1) == (["adult", "Beard"], 4)
