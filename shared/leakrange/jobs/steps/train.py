"""Train a model, an obfuscator or an extractor. Its artifact folder is stored among the models."""

from __future__ import annotations

from typing import Literal

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.step import Job, Step, steps

__all__ = ["TRAIN", "TrainJob"]


class TrainJob(Job):
    """Train what the recipe says. Result: the artifact folder named by the recipe's digest."""

    kind: Literal["train"] = "train"
    recipe: TrainingRecipe

    def identity(self) -> str:
        """The recipe's digest."""
        return self.recipe.digest()


TRAIN = Step("train", label="training", rank=10, job=TrainJob)
steps.register(TRAIN.name, module=__name__)(TRAIN)
