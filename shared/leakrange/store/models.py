"""Trained models by the digest of their recipe, so that no model is trained twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncSession

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.store.insert import insert_new
from leakrange.store.tables import Model, now
from leakrange.wire.errors import NotFound

__all__ = ["Models"]


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
