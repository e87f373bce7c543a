"""A provider's persistent state: the models it serves, and every upload that it received."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
import structlog
from numpy.typing import NDArray
from pydantic import ValidationError

from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Deployment
from services.provider.database import SQLite

__all__ = ["Store", "StoredUpload"]

log = structlog.get_logger("services.provider.store")
COLUMNS = "upload, model, artifact, release, shape, given, decisions, inferred, scores"


@dataclass(frozen=True)
class StoredUpload:
    """An upload as it was taken in: ``values`` float32 (B, ...), ``decisions`` int64 (B,).

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
    reconstructed: NDArray[np.float32] | None = None
    """The samples that a decoder has read, where it reads samples; never stored."""


class Store:
    """The state of one provider in ``folder``, which is made where it is missing; galleries are in the same
    ``database`` (`gallery_store`)."""

    def __init__(self, folder: Path) -> None:
        self.database = SQLite(folder / "provider.sqlite")
        self._do = self.database.do

    async def open(self) -> None:
        """Open the file."""
        await self.database.open()

    async def close(self) -> None:
        """Close the file, after everything that was asked before."""
        await self.database.close()

    async def deployments(self) -> dict[str, Deployment]:
        """What is served, by model name."""
        rows = await self._do(
            lambda c: c.execute(
                "select model, artifact, release, options from deployments order by model"
            ).fetchall()
        )
        found = {}
        for model, artifact, release, options in rows:
            try:
                told = {"artifact": artifact, "release": release, **orjson.loads(options)}
                found[model] = Deployment.model_validate(told)
            except (ValidationError, orjson.JSONDecodeError, TypeError) as error:
                log.error("not a deployment", model=model, reason=str(error))
        return found

    async def put_deployment(self, model: str, deployment: Deployment) -> None:
        """Serve this from now on under that name."""
        options = deployment.model_dump_json(exclude={"artifact", "release"}, exclude_defaults=True)
        row = (model, deployment.artifact, deployment.release, options)
        await self._do(lambda c: c.execute("insert or replace into deployments values (?, ?, ?, ?)", row))

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
            " ".join(map(str, upload.values.shape)),
            upload.values.astype("<f4").tobytes(),
            upload.decisions.astype("<i8").tobytes(),
        )

        def insert(connection: sqlite3.Connection) -> bool:
            cursor = connection.execute(
                "insert into uploads (upload, model, artifact, release, shape, given, decisions)"
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


Row = tuple[str, str, str, ReleaseKind, str, bytes, bytes, bytes | None, bytes | None]


def _read(row: Row) -> StoredUpload:
    upload, model, artifact, release, shape, given, decisions, inferred, scores = row
    sides = [int(side) for side in shape.split()]
    return StoredUpload(
        upload,
        model,
        artifact,
        release,
        np.frombuffer(given, "<f4").reshape(sides),
        np.frombuffer(decisions, "<i8"),
        None if inferred is None else np.frombuffer(inferred, "<i8"),
        None if scores is None else np.frombuffer(scores, "<f4").reshape(sides[0], -1),
    )
