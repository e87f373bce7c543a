"""The SQLite file of a provider: files of before are read, and work that fails leaves nothing behind."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from leakrange.services.provider.database import SQLite, deployments
from leakrange.services.provider.gallery_store import GalleryStore
from leakrange.services.provider.store import Store
from leakrange.wire.schemas import Deployment

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
    store = Store(tmp_path)
    await store.open()
    expected = Deployment(artifact="a" * 64, release="softmax", service="features", normalised=True)
    assert await store.deployments() == {"m": expected}
    [kept] = await store.uploads("m", None, 10)
    assert kept.inferred is not None
    assert kept.scores is not None
    np.testing.assert_array_equal(kept.values, VALUES)
    [ann] = await GalleryStore(store).load("m", "basis")
    assert (ann.person, ann.images, ann.mark, ann.vector.tolist()) == ("ann", 3, b"\xff", [0, 1, 2, 3, 4, 5])
    await store.close()
    assert facts(path) == was
    (tmp_path / "new").mkdir()
    new = Store(tmp_path / "new")
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
