"""A database file that is damaged, or has no room: the error names it and says how to go on."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from sqlalchemy import insert, text

from leakrange.services.provider.database import SQLite, deployments
from leakrange.store.engine import Database
from leakrange.store.migrate import upgrade
from leakrange.store.runs import RunStore
from leakrange.wire.errors import StorageFull, Unavailable
from tests.disks import fill, small_disk

Work = Callable[[Path], Awaitable[None]]


async def controllers(path: Path) -> None:
    """Open the controller's file and write as much as a run's plan."""
    database = Database(f"sqlite:///{path}")
    try:
        await asyncio.to_thread(upgrade, f"sqlite:///{path}")
        async with database.write() as session:
            await RunStore(session).create("a run", scenario_yaml="x" * 300_000, scenario={})
            await session.execute(text("select * from runs"))
    finally:
        await database.close()


async def providers(path: Path) -> None:
    """Open a provider's file and write as much as a large upload."""
    database = SQLite(path)
    await database.open()
    row = ("m", "a", "logits", "x" * 300_000)
    replace = insert(deployments).prefix_with("or replace").values(row)
    await database.do(lambda c: c.execute(replace))
    await database.close()


def forget_the_log(path: Path) -> None:
    """Of writes that are in the file already."""
    for beside in path.parent.glob(f"{path.name}-*"):
        beside.unlink()


@pytest.mark.parametrize("work", [controllers, providers])
@pytest.mark.parametrize("damage", ["no database", "a page"])
async def test_a_damaged_file_is_named_and_left_where_it_is(work: Work, damage: str, tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    await work(path)
    content = path.read_bytes()
    broken = b"?" * len(content) if damage == "no database" else content[:100] + b"?" * 8000 + content[8100:]
    forget_the_log(path)
    path.write_bytes(broken)
    with pytest.raises(Unavailable, match=f"the database {path} is damaged") as caught:
        await work(path)
    assert "move it away" in str(caught.value.hint)
    assert path.read_bytes() == broken
    path.rename(tmp_path / "away")
    forget_the_log(path)
    await work(path)


@pytest.mark.parametrize("work", [controllers, providers])
async def test_a_full_disk_is_named_and_can_be_emptied(work: Work, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        path = disk / "state.db"
        await work(path)
        filler = fill(disk)
        with pytest.raises(StorageFull, match=f"disk is full.*{disk}"):
            await work(path)
        filler.unlink()
        await work(path)
