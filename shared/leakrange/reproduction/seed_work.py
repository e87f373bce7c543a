"""Works that are named by a seed and give one cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leakrange.reproduction.cells import Cell, Cells
from leakrange.reproduction.work import Progress

__all__ = ["SeedWork"]


@dataclass(frozen=True)
class SeedWork(ABC):
    """One cell under one seed."""

    seed: int

    @property
    @abstractmethod
    def title(self) -> str:
        """What is measured."""

    @abstractmethod
    def identity(self) -> list[Any]:
        """Of its cell: the paper, and all that decides the figures, the versions of what trains and measures
        among it."""

    @abstractmethod
    def measure(self, store: Path, progress: Progress, /) -> Cell:
        """Make the cell; ``store`` may keep what stands behind it."""

    def cell(self, store: Path) -> Cell | None:
        """What was measured, if it was."""
        return Cells(store).get(self.identity())

    def done(self, store: Path) -> bool:
        """Whether the cell is there."""
        return self.cell(store) is not None

    def carry_out(self, store: Path, progress: Progress) -> None:
        """Make the cell and keep it."""
        Cells(store).put(self.identity(), self.measure(store, progress))
