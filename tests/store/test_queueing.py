"""Writers who all come at once."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path

import pytest
from sqlalchemy import text

from leakrange.store import engine
from leakrange.store.engine import Database
from leakrange.store.runs import RunStore
from tests.databases import Databases


@pytest.fixture
def url(databases: Databases) -> str:
    return databases.migrated("sqlite")


async def test_every_writer_gets_its_turn_however_long_the_queue(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Together they hold the database for much longer than one waits for it."""
    monkeypatch.setattr(engine, "BUSY_TIMEOUT_MS", 50)
    database = Database(url)

    async def write(number: int) -> None:
        async with database.write() as session:
            await RunStore(session).create(f"run-{number}", scenario_yaml="", scenario={})
            await asyncio.to_thread(time.sleep, 0.02)  # a disk that takes its time

    try:
        await asyncio.gather(*(write(number) for number in range(20)))
        async with database.read() as session:
            rows, _ = await RunStore(session).page(limit=50)
        assert len(rows) == 20
    finally:
        await database.close()


async def test_who_opens_a_new_file_waits_for_another_who_writes_it(tmp_path: Path) -> None:
    """As when several processes migrate an empty database at once."""
    path = tmp_path / "new.sqlite"
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    database = Database(f"sqlite:///{path}")

    async def mode() -> str:
        async with database.read() as session:
            return str((await session.execute(text("PRAGMA journal_mode"))).scalar_one())

    try:
        opening = asyncio.create_task(mode())
        await asyncio.wait([opening], timeout=0.2)
        assert not opening.done()
        other.execute("COMMIT")
        assert await opening == "wal"
    finally:
        other.close()
        await database.close()
