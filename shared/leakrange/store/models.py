"""Trained models by the digest of their recipe, so that no model is trained twice."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any

from pydantic import ValidationError
from sqlalchemy import select

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.store.rows import Rows
from leakrange.store.tables import ModelRow, now
from leakrange.wire.errors import NotFound

__all__ = ["Models"]

PARAMETERS = 500
"""Of one query."""
NEWEST = 20
"""So many models of one data set and behaviour tell how long the next one takes."""


class Models(Rows):
    """Models by digest; the first record of each stands, since the same recipe gives the same model."""

    async def add(self, recipe: TrainingRecipe, figures: dict[str, Any]) -> bool:
        """Record a trained model; False if it is recorded already. ``figures`` are what its training
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
        return await self.insert_new(ModelRow, [row], ModelRow.digest) == 1

    async def get(self, digest: str) -> ModelRow:
        """The model of that digest; raises `NotFound`."""
        model = await self.session.get(ModelRow, digest)
        if model is None:
            raise NotFound(f"no model {digest!r} was trained here")
        return model

    async def page(self, *, limit: int = 100, offset: int = 0) -> Sequence[ModelRow]:
        """Up to ``limit`` models, newest first."""
        query = (
            select(ModelRow).order_by(ModelRow.created.desc(), ModelRow.digest).limit(limit).offset(offset)
        )
        return (await self.session.scalars(query)).all()

    async def known(self, digests: Collection[str]) -> set[str]:
        """Return those of the digests whose models are recorded."""
        recorded: set[str] = set()
        wanted = sorted(digests)
        for start in range(0, len(wanted), PARAMETERS):
            some = ModelRow.digest.in_(wanted[start : start + PARAMETERS])
            recorded |= set((await self.session.scalars(select(ModelRow.digest).where(some))).all())
        return recorded

    async def like(self, kinds: Collection[tuple[str, str]]) -> list[tuple[TrainingRecipe, float]]:
        """Return the newest models of each pair of data set and behaviour: how each was trained, and in how
        many seconds. Models of another version of Leakrange with other recipes are left out."""
        trainings = []
        for data, behaviour in sorted(kinds):
            same = (ModelRow.data == data, ModelRow.behaviour == behaviour)
            query = select(ModelRow).where(*same).order_by(ModelRow.created.desc()).limit(NEWEST)
            for model in (await self.session.scalars(query)).all():
                with suppress(ValidationError, KeyError):
                    recipe = TrainingRecipe.model_validate(model.recipe)
                    trainings.append((recipe, float(model.figures["seconds"])))
        return trainings
