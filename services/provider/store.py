"""A provider's persistent state: the models it serves, and every upload that it received."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import orjson
import structlog
from numpy.typing import NDArray
from pydantic import ValidationError
from sqlalchemy import ColumnElement, Connection, Row, delete, func, select, text, update

from leakrange.services.provider.database import StateDatabase, deployments, uploads, upsert
from leakrange.wire.releases import ReleaseKind
from leakrange.wire.schemas import Deployment

log = structlog.get_logger("leakrange.services.provider.store")
TOGETHER = 64
"""The most uploads in one transaction."""


@dataclass(frozen=True)
class StoredUpload:
    """An upload in the database: ``values`` float32 (B, ...), ``decisions`` int64 (B,).

    ``inferred`` int64 (B,) and ``scores`` float32 (B, S) are None until a decoder has read them. With several
    attributes ``decisions`` and ``inferred`` are (B, A).
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
    """The samples from a decoder that reads samples; never stored."""


class Store:
    """Deployments and uploads in the database of a provider; galleries are there as well
    (`gallery_store`)."""

    def __init__(self, database: StateDatabase) -> None:
        self.database = database
        self._arrived: dict[asyncio.Future[bool], dict[str, Any]] = {}
        self._storing = asyncio.Lock()

    async def deployments(self) -> dict[str, Deployment]:
        """The deployments, by model name."""
        rows = await self.database.do(
            lambda c: c.execute(select(deployments).order_by(deployments.c.model)).all()
        )
        deployments_by_model = {}
        for model, artifact, release, options in rows:
            try:
                fields = {"artifact": artifact, "release": release, **orjson.loads(options)}
                deployments_by_model[model] = Deployment.model_validate(fields)
            except (ValidationError, orjson.JSONDecodeError, TypeError) as error:
                log.error("not a deployment", model=model, reason=str(error))
        return deployments_by_model

    async def put_deployment(self, model: str, deployment: Deployment) -> None:
        """Serve this deployment from now on under that name."""
        options = deployment.model_dump_json(exclude={"artifact", "release"}, exclude_defaults=True)
        given = {"artifact": deployment.artifact, "release": deployment.release, "options": options}
        await self.database.do(lambda c: c.execute(upsert(deployments, {"model": model, **given})))

    async def delete_deployment(self, model: str) -> None:
        """Serve nothing under that name."""
        await self.database.do(lambda c: c.execute(delete(deployments).where(deployments.c.model == model)))

    async def take_in(self, upload: StoredUpload) -> tuple[StoredUpload, bool]:
        """Keep an upload; gives the upload that is stored under its id, and whether that is new. The first
        one stays."""
        row = {
            "model": upload.model,
            "upload": upload.upload,
            "artifact": upload.artifact,
            "release": upload.release,
            "shape": " ".join(map(str, upload.values.shape)),
            "given": upload.values.astype("<f4").tobytes(),
            "decisions": upload.decisions.astype("<i8").tobytes(),
        }
        if await self._insert(row):
            return upload, True
        first = await self.upload(upload.model, upload.upload)
        assert first is not None  # uploads are never deleted
        return first, False

    async def _insert(self, row: dict[str, Any]) -> bool:
        """Store an upload, and with it in one transaction all that arrived while others were stored. Returns
        whether it is new."""
        new: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._arrived[new] = row
        try:
            async with self._storing:
                if not new.done():
                    await self._insert_arrived()
            return new.result()
        finally:
            self._arrived.pop(new, None)

    async def _insert_arrived(self) -> None:
        rows = dict(islice(self._arrived.items(), TOGETHER))
        try:
            stored = await self.database.take_in(list(rows.values()))
        except Exception as error:  # each of them gets it
            for new in rows:
                self._arrived.pop(new, None)
                new.set_exception(error)
            return
        for new, row in rows.items():
            self._arrived.pop(new, None)  # whoever is cancelled now may not have left yet
            name = row["model"], row["upload"]
            new.set_result(name in stored)
            stored.discard(name)

    async def upload(self, model: str, upload: str) -> StoredUpload | None:
        """The upload of that id, or None."""
        if "\0" in upload:  # PostgreSQL knows no such text
            return None
        query = select(uploads).where(*_named(model, upload))
        row = await self.database.do(lambda c: c.execute(query).one_or_none())
        return None if row is None else _read(row)

    async def uploads(self, model: str, after: str | None, limit: int) -> list[StoredUpload]:
        """The uploads to a model in order of arrival, after the upload ``after``. None with a smaller number
        comes later: PostgreSQL waits for those that are being stored."""
        after = None if after is not None and "\0" in after else after
        last = select(uploads.c.number).where(*_named(model, after)).correlate(None).scalar_subquery()
        of_model = select(uploads).where(uploads.c.model == model, uploads.c.number > func.coalesce(last, 0))

        def read(connection: Connection) -> Sequence[Row[Any]]:
            if connection.dialect.name == "postgresql":
                connection.execute(text("lock table uploads in share mode"))
            return connection.execute(of_model.order_by(uploads.c.number).limit(limit)).all()

        return [_read(row) for row in await self.database.do(read)]

    async def infer(
        self, model: str, upload: str, inferred: NDArray[np.int64], scores: NDArray[np.float32]
    ) -> None:
        """Keep a decoder's results for an upload."""
        results = {"inferred": inferred.astype("<i8").tobytes(), "scores": scores.astype("<f4").tobytes()}
        await self.database.do(
            lambda c: c.execute(update(uploads).where(*_named(model, upload)).values(results))
        )


def _named(model: str, upload: str | None) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return uploads.c.model == model, uploads.c.upload == upload


def _read(row: Row[Any]) -> StoredUpload:
    sides = [int(side) for side in row.shape.split()]
    return StoredUpload(
        row.upload,
        row.model,
        row.artifact,
        row.release,
        np.frombuffer(row.given, "<f4").reshape(sides),
        _classes(row.decisions, sides[0]),
        None if row.inferred is None else _classes(row.inferred, sides[0]),
        None if row.scores is None else np.frombuffer(row.scores, "<f4").reshape(sides[0], -1),
    )


def _classes(stored: bytes, samples: int) -> NDArray[np.int64]:
    """The stored classes: (B,) of one attribute, (B, A) of several."""
    classes = np.frombuffer(stored, "<i8")
    return classes if len(classes) == samples else classes.reshape(samples, -1)
