"""One part of a reproduction of FACELEAKS under one seed, as a piece of work that can be resumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leakrange.reproduction.cells import Cell
from leakrange.reproduction.faceleaks.channel import Range
from leakrange.reproduction.faceleaks.settings import Part, Settings
from leakrange.reproduction.seed_work import SeedWork
from leakrange.reproduction.work import Progress

__all__ = ["PartWork"]

VERSION = 1
"""Raised when a part gives other figures than before: its scene, its attacks or its metrics."""


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

    def identity(self) -> list[Any]:
        """Of its cell: the settings, the versions behind its teacher, and its own."""
        teacher = self.settings.recipe(self.seed).versions.model_dump()
        return ["faceleaks", self.part, self.seed, asdict(self.settings), teacher, VERSION]

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
