"""Writers who all come at once."""

from __future__ import annotations

import asyncio
import time

import pytest

from leakrange.store import engine
from leakrange.store.engine import Database
from leakrange.store.runs import Runs
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
            await Runs(session).create(f"run-{number}", scenario_yaml="", scenario={})
            await asyncio.to_thread(time.sleep, 0.02)  # a disk that takes its time

    try:
        await asyncio.gather(*(write(number) for number in range(20)))
        async with database.read() as session:
            rows, _ = await Runs(session).page(limit=50)
        assert len(rows) == 20
    finally:
        await database.close()
