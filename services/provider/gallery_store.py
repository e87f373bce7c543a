"""Enrolled persons in a provider's database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, Row, delete, select

from leakrange.services.provider.database import StateDatabase, gallery, upsert


@dataclass(frozen=True)
class Template:
    """An enrolled person: the mean ``vector`` float32 (F,) of so many different ``images``, which ``mark``
    names (`leakrange.wire.pairs.joint_mark`). The images themselves are not kept."""

    person: str
    vector: NDArray[np.float32]
    images: int
    mark: bytes


class GalleryStore:
    """The table ``gallery``. ``basis`` identifies the artifact that computed the vectors, and the way
    it did."""

    def __init__(self, database: StateDatabase) -> None:
        self._database = database

    async def load(self, model: str, basis: str) -> list[Template]:
        """Everybody of a model whose vector has that basis; all others of the model are forgotten."""

        def read(connection: Connection) -> Sequence[Row[Any]]:
            of_model = gallery.c.model == model
            connection.execute(delete(gallery).where(of_model, gallery.c.basis != basis))
            return connection.execute(select(gallery).where(of_model)).all()

        rows = await self._database.do(read)
        return _templates(rows)

    async def read(self, model: str, basis: str) -> list[Template]:
        """Everybody of a model whose vector has that basis; nobody is forgotten."""
        query = select(gallery).where(gallery.c.model == model, gallery.c.basis == basis)
        return _templates(await self._database.do(lambda c: c.execute(query).all()))

    async def put(self, model: str, basis: str, template: Template) -> None:
        """Enrol a person, or replace one."""
        row = {
            "model": model,
            "person": template.person,
            "basis": basis,
            "vector": template.vector.astype("<f4").tobytes(),
            "images": template.images,
            "mark": template.mark,
        }
        await self._database.do(lambda c: c.execute(upsert(gallery, row)))

    async def delete(self, model: str, person: str) -> None:
        """Forget one person."""
        entry = (gallery.c.model == model, gallery.c.person == person)
        await self._database.do(lambda c: c.execute(delete(gallery).where(*entry)))

    async def delete_all(self, model: str) -> None:
        """Forget everybody of a model."""
        await self._database.do(lambda c: c.execute(delete(gallery).where(gallery.c.model == model)))


def _templates(rows: Sequence[Row[Any]]) -> list[Template]:
    return [Template(r.person, np.frombuffer(r.vector, "<f4"), r.images, r.mark) for r in rows]
