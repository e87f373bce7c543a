"""Enrolled persons in a provider's SQLite file."""

from __future__ import annotations

from dataclasses import dataclass
from sqlite3 import Connection

import numpy as np
from numpy.typing import NDArray

from services.provider.database import SQLite

__all__ = ["GalleryStore", "Template"]


@dataclass(frozen=True)
class Template:
    """An enrolled person: the mean ``vector`` float32 (F,) of so many different ``images``, which ``mark``
    names (`leakrange.wire.pairs.joint_mark`). The images themselves are not kept."""

    person: str
    vector: NDArray[np.float32]
    images: int
    mark: bytes


class GalleryStore:
    """The table ``gallery``. ``basis`` says by which artifact the vectors were made, and how."""

    def __init__(self, database: SQLite) -> None:
        self._database = database

    async def load(self, model: str, basis: str) -> list[Template]:
        """Everybody of a model whose vector was made so; all others of it are forgotten."""

        def read(connection: Connection) -> list[tuple[str, bytes, int, bytes]]:
            connection.execute("delete from gallery where model = ? and basis <> ?", (model, basis))
            query = "select person, vector, images, mark from gallery where model = ?"
            return connection.execute(query, (model,)).fetchall()

        rows = await self._database.do(read)
        return [
            Template(person, np.frombuffer(vector, "<f4"), images, mark)
            for person, vector, images, mark in rows
        ]

    async def put(self, model: str, basis: str, template: Template) -> None:
        """Enrol, or replace."""
        vector = template.vector.astype("<f4").tobytes()
        row = (model, template.person, basis, vector, template.images, template.mark)
        await self._database.do(
            lambda c: c.execute("insert or replace into gallery values (?, ?, ?, ?, ?, ?)", row)
        )

    async def delete(self, model: str, person: str) -> None:
        """Forget one person."""
        await self._database.do(
            lambda c: c.execute("delete from gallery where model = ? and person = ?", (model, person))
        )

    async def delete_all(self, model: str) -> None:
        """Forget everybody of a model."""
        await self._database.do(lambda c: c.execute("delete from gallery where model = ?", (model,)))
