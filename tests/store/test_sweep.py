"""Sweeping: what no run needs goes, and nothing that a run needs, not even one that begins meanwhile."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import update

from leakrange.store.engine import Database
from leakrange.store.files import FolderStore, put_array, put_arrays
from leakrange.store.jobs import Jobs
from leakrange.store.runs import RunStore
from leakrange.store.sweep import main, sweep
from leakrange.store.tables import RunRow, now
from leakrange.store.uploads import reconstructed_as
from leakrange.wire.errors import Conflict
from leakrange.wire.runs import State


def name(number: int) -> str:
    return hashlib.sha256(bytes([number])).hexdigest()


@pytest.fixture
def releases(tmp_path: Path) -> FolderStore:
    return FolderStore(tmp_path / "releases")


def age(store: FolderStore, days: float) -> None:
    """Let everything have been written so long ago."""
    for path in store.root.rglob("*"):
        then = now().timestamp() - 86_400 * days
        os.utime(path, (then, then))


def there(store: FolderStore) -> set[str]:
    return {each.name for each in store.objects()}


async def run(database: Database, identities: Iterable[str], state: State = "done", days: float = 0.0) -> str:
    """A run with these jobs that ended so many days ago."""
    async with database.write() as session:
        runs = RunStore(session)
        made = await runs.create("swept", scenario_yaml="", scenario={})
        await Jobs(session).add(made.id, [(each, "probe", {}) for each in identities])
        if state != "queued":
            await runs.move(made.id, "running")
        if state not in ("queued", "running"):
            await runs.move(made.id, state)
            ended = now() - timedelta(days=days)
            await session.execute(update(RunRow).where(RunRow.id == made.id).values(finished=ended))
        return made.id


async def test_what_runs_of_late_need_stays(database: Database, releases: FolderStore) -> None:
    await run(database, [name(0), name(1)], days=5)
    await run(database, [name(1), name(2)], days=40)
    for number in (0, 1, 2, 3):
        put_array(releases, f"{name(number)}.npy", np.zeros(3))
    put_arrays(releases, f"{name(0)}.npz", {"decisions": np.zeros(3)})
    put_array(releases, f"{reconstructed_as(name(0))}.npy", np.zeros(3))
    put_array(releases, f"{reconstructed_as(name(2))}.npy", np.zeros(3))
    age(releases, 31)
    put_array(releases, f"{name(4)}.npy", np.zeros(3))
    assert (await sweep(database, releases, 30)).removed == 3
    kept = {f"{name(0)}.npy", f"{name(0)}.npz", f"{name(1)}.npy", f"{name(4)}.npy"}
    assert there(releases) == kept | {f"{reconstructed_as(name(0))}.npy"}
    assert (await sweep(database, releases, 30)).removed == 0


async def test_a_pack_stays_while_one_of_its_answers_is_needed(
    database: Database, releases: FolderStore
) -> None:
    await run(database, [name(19)], days=5)
    for first in (0, 20):
        group = [name(number) for number in range(first, first + 20)]
        for each in group:
            put_array(releases, f"{each}.npy", np.zeros(3))
        assert releases.pack(group) == 20
    age(releases, 31)
    assert (await sweep(database, releases, 30)).removed == 2
    assert FolderStore(releases.root).exists(f"{name(0)}.npy")
    assert not FolderStore(releases.root).exists(f"{name(20)}.npy")


async def test_no_more_goes_than_has_to_and_the_oldest_first(
    database: Database, database_url: str, releases: FolderStore, capsys: pytest.CaptureFixture[str]
) -> None:
    await run(database, [name(0)], days=5)
    for number in (3, 2, 1, 0):  # 0 is the oldest, and needed; 3 is the youngest of the old
        put_array(releases, f"{name(number)}.npy", np.zeros(1000))
    for number in range(4):
        then = now().timestamp() - 86_400 * (50 - number)
        os.utime(releases.path(f"{name(number)}.npy"), (then, then))
    group = [name(number) for number in range(20, 40)]
    for each in group:
        put_array(releases, f"{each}.npy", np.zeros(1000))
    releases.pack(group)  # the youngest, and the largest
    size = sum(each.size for each in releases.objects())
    one = len(releases.read(f"{name(1)}.npy"))
    assert await sweep(database, releases, 30, size) == (0, size)
    assert await sweep(database, releases, 30, size - one - 1) == (2, size - 2 * one)
    left = {f"{name(0)}.npy", f"{name(3)}.npy"}
    assert {each for each in there(releases) if "/" not in each} == left
    words = ["--url", database_url, "--releases", str(releases.root), "--days", "30"]
    with pytest.raises(SystemExit, match="more than 1e-06 GB are left"):
        await asyncio.to_thread(main, [*words, "--gigabytes", "1e-6"])
    assert "objects removed: 1; 0.000 GB are left" in capsys.readouterr().out


@pytest.mark.parametrize("state", ["queued", "running"])
async def test_nothing_goes_while_a_run_is_under_way(
    database: Database, releases: FolderStore, state: State
) -> None:
    await run(database, [], state)
    put_array(releases, f"{name(0)}.npy", np.zeros(3))
    age(releases, 31)
    with pytest.raises(Conflict, match="1 runs are under way"):
        await sweep(database, releases, 30)
    assert there(releases) == {f"{name(0)}.npy"}


async def test_a_run_that_begins_meanwhile_finds_what_stays_and_nothing_else(
    database: Database, releases: FolderStore
) -> None:
    """It may begin, and look what is stored, before or after the removal, and not in the middle."""
    loop, beginning = asyncio.get_running_loop(), list[asyncio.Future[set[str]]]()

    async def begin() -> set[str]:
        await run(database, [], "queued")
        return there(releases)

    class Watched(FolderStore):
        def remove(self, names: Iterable[str]) -> None:
            begun = asyncio.run_coroutine_threadsafe(begin(), loop)
            with pytest.raises(TimeoutError):
                begun.result(timeout=0.3)
            super().remove(names)
            beginning.append(asyncio.wrap_future(begun, loop=loop))

    for number in (0, 1):
        put_array(releases, f"{name(number)}.npy", np.zeros(3))
    age(releases, 31)
    assert (await sweep(database, Watched(releases.root), 30)).removed == 2
    assert await beginning[0] == set()


def test_it_is_run_from_the_command_line(
    database_url: str, releases: FolderStore, capsys: pytest.CaptureFixture[str]
) -> None:
    put_array(releases, f"{name(0)}.npy", np.zeros(3))
    age(releases, 31)
    arguments = ["--url", database_url, "--releases", str(releases.root)]
    with pytest.raises(SystemExit):
        main([*arguments, "--days", "0"])
    assert "1 or more" in capsys.readouterr().err
    main([*arguments, "--days", "30"])
    assert capsys.readouterr().out == "objects removed: 1; 0.000 GB are left\n"
    assert there(releases) == set()
