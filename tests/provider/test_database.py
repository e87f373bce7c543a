"""The database of a provider: files of before are read, work that fails leaves nothing behind, and uploads
that come together are stored together."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.schema import DropTable

from leakrange.services.provider.database import PostgreSQL, SQLite, StateDatabase, deployments, uploads
from leakrange.services.provider.gallery_store import GalleryStore
from leakrange.services.provider.store import Store, StoredUpload
from leakrange.wire.schemas import Deployment
from tests.databases import Databases

VALUES = np.arange(6, dtype=np.float32).reshape(1, 2, 3)
WRITTEN_BY_HAND = """
create table deployments (
    model text primary key, artifact text not null, release text not null, options text not null default '{}'
) without rowid;
create table uploads (
    number integer primary key, model text not null, upload text not null, artifact text not null,
    release text not null, shape text not null, given blob not null, decisions blob not null,
    inferred blob, scores blob,
    unique (model, upload)
);
create table gallery (
    model text not null, person text not null, basis text not null, vector blob not null,
    images integer not null, mark blob not null,
    primary key (model, person)
) without rowid;
"""
"""The tables as providers made them before they were declared."""


def facts(path: Path) -> list[list[tuple[object, ...]]]:
    """Columns, types, defaults, keys and indices of the tables in a file."""
    with sqlite3.connect(path) as connection:
        found = [
            connection.execute(f"pragma {pragma}({table})").fetchall()
            for table in ("deployments", "uploads", "gallery")
            for pragma in ("table_xinfo", "index_list")
        ]
        found.append(connection.execute("select name, wr from pragma_table_list order by name").fetchall())
    connection.close()
    # A key is never null in either: one says so, the other need not.
    return [
        [
            (*row[:2], str(row[2]).upper(), row[3] or row[5], *row[4:]) if len(row) == 7 else row
            for row in rows
        ]
        for rows in found
    ]


async def test_a_file_of_before_the_declared_tables_is_read_and_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "provider.sqlite"
    before = sqlite3.connect(path)
    before.executescript(WRITTEN_BY_HAND)
    options = '{"service":"features","normalised":true}'
    before.execute("insert into deployments values ('m', ?, 'softmax', ?)", ("a" * 64, options))
    upload = (None, "m", "u", "a" * 64, "logits", "1 2 3", VALUES.tobytes(), bytes(8), bytes(8), bytes(4))
    before.execute("insert into uploads values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", upload)
    before.execute("insert into gallery values ('m', 'ann', 'basis', ?, 3, x'ff')", (VALUES.tobytes(),))
    before.commit()
    before.close()
    was = facts(path)
    database = SQLite(path)
    await database.open()
    store = Store(database)
    expected = Deployment(artifact="a" * 64, release="softmax", service="features", normalised=True)
    assert await store.deployments() == {"m": expected}
    [kept] = await store.uploads("m", None, 10)
    assert kept.inferred is not None
    assert kept.scores is not None
    np.testing.assert_array_equal(kept.values, VALUES)
    [ann] = await GalleryStore(database).load("m", "basis")
    assert (ann.person, ann.images, ann.mark, ann.vector.tolist()) == ("ann", 3, b"\xff", [0, 1, 2, 3, 4, 5])
    await database.close()
    assert facts(path) == was
    (tmp_path / "new").mkdir()
    new = SQLite(tmp_path / "new" / "provider.sqlite")
    await new.open()
    await new.close()
    assert facts(tmp_path / "new" / "provider.sqlite") == was


async def test_work_that_fails_is_undone_and_its_error_quotes_no_upload(tmp_path: Path) -> None:
    database = SQLite(tmp_path / "provider.sqlite")
    await database.open()

    def fail(connection: Connection) -> None:
        for _ in range(2):
            connection.execute(insert(deployments).values(("m", "what a user sent", "logits", "{}")))

    with pytest.raises(IntegrityError) as caught:
        await database.do(fail)
    assert "what a user sent" not in str(caught.value)
    assert await database.do(lambda c: c.execute(select(deployments)).all()) == []
    assert await database.do(lambda c: c.exec_driver_sql("pragma journal_mode").scalar()) == "wal"
    assert await database.do(lambda c: c.exec_driver_sql("pragma synchronous").scalar()) == 1
    assert await database.do(lambda c: c.exec_driver_sql("pragma busy_timeout").scalar()) == 10_000
    await database.close()


async def test_an_upgrade_that_fails_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "provider.sqlite"
    earlier = sqlite3.connect(path)
    earlier.executescript(WRITTEN_BY_HAND.replace("shape text", "samples integer"))
    nothing = (None, "m", "u", "a" * 64, "logits", 0, b"", b"")  # of no samples there is no shape
    earlier.execute("insert into uploads values (?, ?, ?, ?, ?, ?, ?, ?, null, null)", nothing)
    earlier.commit()
    was = facts(path)
    database = SQLite(path)
    with pytest.raises(IntegrityError):
        await database.open()
    assert facts(path) == was
    earlier.execute("delete from uploads")
    earlier.commit()
    earlier.close()
    await database.open()
    await database.close()
    assert facts(path) != was


class Counted(Store):
    """Counts its transactions, and begins none before it may."""

    def __init__(self, database: StateDatabase) -> None:
        super().__init__(database)
        self.transactions = 0
        self.may = asyncio.Event()
        self.may.set()
        database.do = self._counted(database.do)  # type: ignore[method-assign]
        if isinstance(database, PostgreSQL):  # SQLite takes in by `do`
            database.take_in = self._counted(database.take_in)  # type: ignore[method-assign]

    def _counted(self, transaction: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def counted(work: Any) -> Any:
            self.transactions += 1
            await self.may.wait()
            return await transaction(work)

        return counted


@pytest.fixture(params=["sqlite", "postgresql"])
async def store(
    request: pytest.FixtureRequest, databases: Databases, tmp_path: Path
) -> AsyncIterator[Counted]:
    database: StateDatabase = SQLite(tmp_path / "provider.sqlite")
    if request.param == "postgresql":
        database = PostgreSQL(databases.empty("postgresql"), "m")
    await database.open()
    yield Counted(database)
    await database.close()


def upload(name: str, value: float) -> StoredUpload:
    return StoredUpload(name, "m", "a", "logits", np.full((1, 2), value, np.float32), np.zeros(1, np.int64))


async def test_uploads_that_come_together_are_stored_together_and_the_first_of_each_id_stays(
    store: Counted,
) -> None:
    await store.take_in(upload("0", 9))
    sent = [upload(str(number % 50), 10 * number + 1) for number in range(150)]
    store.transactions = 0
    answers = await asyncio.gather(*map(store.take_in, sent))
    assert [new for _, new in answers] == [1 <= number < 50 for number in range(150)]
    assert [float(kept.values[0, 0]) for kept, _ in answers[50:100]] == [9, *range(11, 501, 10)]
    assert store.transactions <= 101 + 4  # a hundred and one were there, and are read one by one
    stored = await store.uploads("m", None, 200)
    assert [each.upload for each in stored] == [str(number) for number in range(50)]


async def test_uploads_are_stored_though_the_one_that_stores_them_is_cancelled(store: Counted) -> None:
    store.may.clear()
    tasks = [asyncio.create_task(store.take_in(upload(str(number), number))) for number in range(9)]
    for number in (0, 1):  # the first stores itself, the second all others
        async with asyncio.timeout(20):
            while store.transactions <= number:  # noqa: ASYNC110 - the store counts
                await asyncio.sleep(0)
        tasks[number].cancel()
    store.may.set()
    kept = await asyncio.gather(*tasks[2:])
    assert [float(each.values[0, 1]) for each, _ in kept] == list(range(2, 9))
    assert {str(number) for number in range(2, 9)} <= {
        each.upload for each in await store.uploads("m", None, 9)
    }


async def test_uploads_that_cannot_be_stored_are_refused_each(store: Counted) -> None:
    await store.database.do(lambda c: c.execute(DropTable(uploads)))
    answers = await asyncio.gather(
        *(store.take_in(upload(str(number), 1)) for number in range(5)), return_exceptions=True
    )
    assert all(isinstance(each, DBAPIError) for each in answers)
