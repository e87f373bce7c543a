"""Old runs go, and never one that goes on, is kept, or whose models are served."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from leakrange.store.engine import Database
from leakrange.store.events import Events
from leakrange.store.retention import main
from leakrange.store.runs import RunStore
from leakrange.store.tables import EventRow, RunRow, ServedRow, now

AGES = {"old": 40, "older": 90, "recent": 5, "kept-by-name": 60, "kept-by-id": 61, "served": 62}
"""The days since the end of each run; a further one goes on."""


async def _fill(database: Database) -> dict[str, str]:
    ids = {}
    for name in (*AGES, "running"):
        async with database.write() as session:
            run = await RunStore(session).create(name, scenario_yaml="", scenario={})
            ids[name] = run.id
            await Events(session).append(run.id, "noted", {})
            await RunStore(session).move(run.id, "running")
            if name != "running":
                await RunStore(session).move(run.id, "done")
                run.finished = now() - timedelta(days=AGES[name])
            else:
                run.started = now() - timedelta(days=100)
            if name == "served":
                session.add(ServedRow(run_id=run.id, model="m", plays="honest"))
    return ids


async def test_what_goes_is_listed_first_and_nothing_else_goes(
    database: Database, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    ids = await _fill(database)
    words = ["--url", database_url, "--days", "30", "--keep", "kept-by-name", "--keep", ids["kept-by-id"]]
    await asyncio.to_thread(main, [*words, "--dry-run"])
    listed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in listed[:-1]] == [ids["older"], ids["old"]]
    assert listed[-1] == "runs that would be removed: 2"
    assert await _runs(database) == set(ids)
    await asyncio.to_thread(main, words)
    assert capsys.readouterr().out.splitlines()[-1] == "runs removed: 2"
    assert await _runs(database) == set(ids) - {"old", "older"}
    async with database.read() as session:
        assert await session.scalar(select(func.count()).select_from(EventRow)) == 5


async def _runs(database: Database) -> set[str]:
    async with database.read() as session:
        return set(await session.scalars(select(RunRow.name)))


@pytest.mark.parametrize("days", ["0", "nan", "1e9", "soon"])
def test_a_number_of_days_that_is_none_is_refused(days: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--url", "sqlite:///nowhere.db", "--days", days])
    assert ended.value.code == 2
    assert "--days" in capsys.readouterr().err
