"""What a reproduction of FACELEAKS is run with, and how it differs from the paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe

__all__ = ["PAPER", "PARTS", "Part", "Settings"]

Part = Literal["models", "membership", "labels", "defences", "attributes"]
PARTS: tuple[Part, ...] = get_args(Part)
"""In the order in which they are measured and shown."""

PAPER = {
    "teacher": "Inception-ResNet-v1 at 160×160, 512 features, 8,631 people of VGGFace2",
    "classes": "200 members and 200 non-members, 50 images each",
}


@dataclass(frozen=True)
class Settings:
    """``images``: of each person that is attacked. ``validated`` and ``tested``: people of either side,
    members and outsiders, on which signs are learnt and on which AUCs are measured. ``pairs``: that a
    verification attack asks about for each person. ``classes``: of the recognition student. ``repeats`` of
    each query by the averaging attacker."""

    data: str = "people"
    size: int | None = None
    width: float = 0.5
    epochs: int = 4
    batch: int = 64
    images: int = 15
    validated: int = 40
    tested: int = 60
    pairs: int = 40
    classes: int = 20
    enrolled: int = 10
    repeats: int = 8

    def spec(self, seed: int) -> DataSpec:
        """The people, cast under ``seed``."""
        return DataSpec(name=self.data, size=self.size, validation=0.1, auxiliary=0.0, seed=seed)

    def recipe(self, seed: int) -> TrainingRecipe:
        """The teacher: a classifier of its members."""
        return TrainingRecipe(
            data=self.spec(seed),
            behaviour="honest",
            parameters={"target": "identity"},
            net=NetSpec(name="residual", width=self.width),
            schedule=Schedule(epochs=self.epochs, batch=self.batch),
            seed=seed,
        )
