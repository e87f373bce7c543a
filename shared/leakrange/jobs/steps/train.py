"""Train a model, an obfuscator or an extractor. Its artifact folder is stored among the models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.step import Job, Step, steps
from leakrange.wire.digests import digest

__all__ = ["TRAIN", "TrainJob"]


class TrainJob(Job):
    """Train what the recipe says. Result: the artifact folder named by the recipe's digest.

    A job ``with_others`` trains the models of all its recipes in one process, at the same time, where that is
    faster than one after the other; else it trains none, and the report says ``apart``.
    """

    kind: Literal["train"] = "train"
    recipe: TrainingRecipe
    with_others: Annotated[tuple[TrainingRecipe, ...], Field(exclude_if=lambda recipes: not recipes)] = ()

    @property
    def recipes(self) -> list[TrainingRecipe]:
        """All recipes of the job."""
        return [self.recipe, *self.with_others]

    def identity(self) -> str:
        """The recipe's digest, or a digest of all of them."""
        if self.with_others:
            return digest(["trained together", *(recipe.digest() for recipe in self.recipes)])
        return self.recipe.digest()


TRAIN = Step("train", label="training", rank=10, job=TrainJob)
steps.register(TRAIN.name, module=__name__)(TRAIN)
