"""What a provider remembers over a restart: which models it serves, and every upload that it has taken in.

SQLite in write-ahead mode: what was answered survives a killed process. One connection, used in one thread.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.jobs import ReleaseKind
from leakrange.wire.schemas import Deployment

__all__ = ["Store", "StoredUpload"]

T = TypeVar("T")
SCHEMA = """
create table if not exists deployments (
    model text primary key, artifact text not null, release text not null
) without rowid;
create table if not exists uploads (
    number integer primary key, model text not null, upload text not null, artifact text not null,
    release text not null, samples integer not null, given blob not null, decisions blob not null,
    inferred blob, scores blob,
    unique (model, upload)
);
"""
COLUMNS = "upload, model, artifact, release, samples, given, decisions, inferred, scores"


@dataclass(frozen=True)
class StoredUpload:
    """An upload as it was taken in: ``values`` float32 (B, N), ``decisions`` int64 (B,).

    ``inferred`` int64 (B,) and ``scores`` float32 (B, S) are None until a decoder has read them.
    """

    upload: str
    model: str
    artifact: str
    release: ReleaseKind
    values: NDArray[np.float32]
    decisions: NDArray[np.int64]
    inferred: NDArray[np.int64] | None = None
    scores: NDArray[np.float32] | None = None


class Store:
    """The state of one provider in ``folder``, which is made where it is missing."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "provider.sqlite"
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="store")
        self._connection: sqlite3.Connection | None = None

    async def open(self) -> None:
        """Open the file and make its tables."""

        def connect() -> None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, isolation_level=None, timeout=10)
            connection.execute("pragma journal_mode = wal")
            connection.execute("pragma synchronous = normal")
            connection.executescript(SCHEMA)
            self._connection = connection

        await asyncio.get_running_loop().run_in_executor(self._thread, connect)

    async def close(self) -> None:
        """Close the file, after everything that was asked before."""
        await self._do(lambda connection: connection.close())
        self._thread.shutdown()

    async def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def run() -> T:
            assert self._connection is not None
            return work(self._connection)

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    async def deployments(self) -> dict[str, Deployment]:
        """What is served, by model name."""
        rows = await self._do(
            lambda c: c.execute("select model, artifact, release from deployments order by model").fetchall()
        )
        return {model: Deployment(artifact=artifact, release=release) for model, artifact, release in rows}

    async def put_deployment(self, model: str, deployment: Deployment) -> None:
        """Serve this from now on under that name."""
        row = (model, deployment.artifact, deployment.release)
        await self._do(lambda c: c.execute("insert or replace into deployments values (?, ?, ?)", row))

    async def delete_deployment(self, model: str) -> None:
        """Serve nothing under that name."""
        await self._do(lambda c: c.execute("delete from deployments where model = ?", (model,)))

    async def take_in(self, upload: StoredUpload) -> tuple[StoredUpload, bool]:
        """Keep an upload; gives what is kept under its id, and whether that is new. The first one stays."""
        row = (
            upload.upload,
            upload.model,
            upload.artifact,
            upload.release,
            len(upload.values),
            upload.values.astype("<f4").tobytes(),
            upload.decisions.astype("<i8").tobytes(),
        )

        def insert(connection: sqlite3.Connection) -> bool:
            cursor = connection.execute(
                "insert into uploads (upload, model, artifact, release, samples, given, decisions)"
                " values (?, ?, ?, ?, ?, ?, ?) on conflict (model, upload) do nothing",
                row,
            )
            return cursor.rowcount == 1

        if await self._do(insert):
            return upload, True
        kept = await self.upload(upload.model, upload.upload)
        assert kept is not None  # uploads are never deleted
        return kept, False

    async def upload(self, model: str, upload: str) -> StoredUpload | None:
        """The upload of that id, or None."""
        query = f"select {COLUMNS} from uploads where model = ? and upload = ?"
        row = await self._do(lambda c: c.execute(query, (model, upload)).fetchone())
        return None if row is None else _read(row)

    async def uploads(self, model: str, after: str | None, limit: int) -> list[StoredUpload]:
        """The uploads to a model in the order in which they came, from behind ``after`` on."""
        query = (
            f"select {COLUMNS} from uploads where model = ?1 and number > coalesce("
            "(select number from uploads where model = ?1 and upload = ?2), 0) order by number limit ?3"
        )
        rows = await self._do(lambda c: c.execute(query, (model, after, limit)).fetchall())
        return [_read(row) for row in rows]

    async def infer(
        self, model: str, upload: str, inferred: NDArray[np.int64], scores: NDArray[np.float32]
    ) -> None:
        """Note what a decoder made of an upload."""
        row = (inferred.astype("<i8").tobytes(), scores.astype("<f4").tobytes(), model, upload)
        await self._do(
            lambda c: c.execute(
                "update uploads set inferred = ?, scores = ? where model = ? and upload = ?", row
            )
        )


Row = tuple[str, str, str, ReleaseKind, int, bytes, bytes, bytes | None, bytes | None]


def _read(row: Row) -> StoredUpload:
    upload, model, artifact, release, samples, given, decisions, inferred, scores = row
    return StoredUpload(
        upload,
        model,
        artifact,
        release,
        np.frombuffer(given, "<f4").reshape(samples, -1),
        np.frombuffer(decisions, "<i8"),
        None if inferred is None else np.frombuffer(inferred, "<i8"),
        None if scores is None else np.frombuffer(scores, "<f4").reshape(samples, -1),
    )
