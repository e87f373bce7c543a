"""One part of a reproduction of FACELEAKS under one seed, as a piece of work that can be resumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leakrange.reproduction.cells import Cell
from leakrange.reproduction.faceleaks.channel import Range
from leakrange.reproduction.faceleaks.settings import Part, Settings
from leakrange.reproduction.measuring_code import measuring_code
from leakrange.reproduction.seed_work import SeedWork
from leakrange.reproduction.work import Progress

__all__ = ["PartWork"]

OWN = ("defended", "membership", "models", "parts", "recogniser", "scene", "settings", "world")
MEASURED_BY = ("attacks.people", "metrics", *(f"reproduction.faceleaks.{name}" for name in OWN))


@dataclass(frozen=True)
class PartWork(SeedWork):
    """``part`` under one seed. ``where`` is the range whose services are asked, and
    ``models`` the folder that its provider serves from; None to show what is there only."""

    part: Part
    settings: Settings
    where: Range | None
    models: Path | None

    @property
    def title(self) -> str:
        """The part and the seed."""
        return f"FACELEAKS {self.part}, seed {self.seed}"

    def identity(self) -> Any:
        """Of its cell: all that decides it but the code."""
        return ["faceleaks", self.part, self.seed, asdict(self.settings)]

    def code(self) -> str:
        """Of the teacher's recipe, and of scene, attacks and measures."""
        return f"{self.settings.recipe(self.seed).code}-{measuring_code(*MEASURED_BY)}"

    def measure(self, store: Path, progress: Progress, /) -> Cell:
        """Make the models that are missing, ask what was not asked yet, measure."""
        from leakrange.reproduction.faceleaks.channel import Channel
        from leakrange.reproduction.faceleaks.parts import MEASURES
        from leakrange.reproduction.faceleaks.scene import Scene

        assert self.where is not None
        assert self.models is not None
        channel = Channel(self.where, store)
        cell = MEASURES[self.part](Scene(self.settings, self.seed, self.models, channel), progress)
        return cell | {"asked": channel.asked}
