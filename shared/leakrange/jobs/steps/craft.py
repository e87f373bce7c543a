"""Craft the one question about each record that tells an attacker most, against its own models."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from leakrange.jobs.recipe import TrainingRecipe
from leakrange.jobs.samples import Span
from leakrange.jobs.step import Job, Step, steps
from leakrange.wire.digests import digest

__all__ = ["CRAFT", "CraftJob"]

VERSION = 1
"""Raised when the same job crafts other samples."""


class CraftJob(Job):
    """Change each sample of ``span``, of true classes ``target``, until shadow models that were not trained
    on it lose its class: see `leakrange.attacks.membership.crafting.craft`. The shadow models of ``recipes``
    have to be trained already. Result: one array (samples, *shape) under the identity."""

    kind: Literal["craft"] = "craft"
    recipes: Annotated[list[TrainingRecipe], Field(min_length=4)]
    span: Span
    target: str

    def identity(self) -> str:
        """A digest of the recipes' digests, the span and the target."""
        recipes = [each.digest() for each in self.recipes]
        return digest(["crafted", VERSION, recipes, self.span.model_dump(mode="json"), self.target])


CRAFT = Step("craft", label="crafted questions", rank=25, job=CraftJob, queue="train", stored="npy")
steps.register(CRAFT.name, module=__name__)(CRAFT)
