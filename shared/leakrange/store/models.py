"""Trained models by the digest of their recipe, so that no model is trained twice."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.store.insert import insert_new
from leakrange.store.tables import Model, now
from leakrange.wire.errors import NotFound

__all__ = ["Models"]

PARAMETERS = 500
"""Of one query."""
NEWEST = 20
"""So many models of one data set and behaviour tell how long the next one takes."""


class Models:
    """Models by digest; what was recorded first stands, since the same recipe gives the same model."""

    def __init__(self, session: AsyncSession) -> None:
        self.session = session

    async def add(self, recipe: TrainingRecipe, figures: dict[str, Any]) -> bool:
        """Record a trained model; False where it is recorded already. ``figures`` are what its training
        reached."""
        row = {
            "digest": recipe.digest(),
            "data": recipe.data.name,
            "behaviour": recipe.behaviour,
            "seed": recipe.seed,
            "recipe": recipe.model_dump(mode="json"),
            "figures": figures,
            "created": now(),
        }
        return await insert_new(self.session, Model, [row], (Model.digest,)) == 1

    async def get(self, digest: str) -> Model:
        """The model of that digest; raises `NotFound`."""
        model = await self.session.get(Model, digest)
        if model is None:
            raise NotFound(f"no model {digest!r} was trained here")
        return model

    async def page(self, *, limit: int = 100, offset: int = 0) -> Sequence[Model]:
        """Up to ``limit`` models, newest first."""
        query = select(Model).order_by(Model.created.desc(), Model.digest).limit(limit).offset(offset)
        return (await self.session.scalars(query)).all()

    async def known(self, digests: Collection[str]) -> set[str]:
        """Those of the digests whose models are recorded."""
        found: set[str] = set()
        wanted = sorted(digests)
        for start in range(0, len(wanted), PARAMETERS):
            some = Model.digest.in_(wanted[start : start + PARAMETERS])
            found |= set((await self.session.scalars(select(Model.digest).where(some))).all())
        return found

    async def like(self, kinds: Collection[tuple[str, str]]) -> list[tuple[TrainingRecipe, float]]:
        """Of each pair of data set and behaviour the newest models: how each was trained, and in how many
        seconds. Those that another version of Leakrange trained are left out where it had other recipes."""
        found = []
        for data, behaviour in sorted(kinds):
            same = (Model.data == data, Model.behaviour == behaviour)
            query = select(Model).where(*same).order_by(Model.created.desc()).limit(NEWEST)
            for model in (await self.session.scalars(query)).all():
                with suppress(ValidationError, KeyError):
                    recipe = TrainingRecipe.model_validate(model.recipe)
                    found.append((recipe, float(model.figures["seconds"])))
        return found
