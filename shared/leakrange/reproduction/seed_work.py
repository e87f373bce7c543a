"""Works that are named by a seed and give one cell."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leakrange.reproduction.cells import Cell, Cells
from leakrange.reproduction.work import Progress

__all__ = ["SeedWork"]


@dataclass(frozen=True)
class SeedWork(ABC):
    """One cell under one seed; with ``any_code``, what an earlier version of the code gave will do."""

    seed: int
    any_code: bool = field(default=False, kw_only=True)

    @property
    @abstractmethod
    def title(self) -> str:
        """What is measured."""

    @abstractmethod
    def identity(self) -> Any:
        """Of its cell, whatever the version of the code."""

    @abstractmethod
    def code(self) -> str:
        """That version, of what trains and of what measures."""

    @abstractmethod
    def measure(self, store: Path, progress: Progress, /) -> Cell:
        """Make the cell; ``store`` may keep what stands behind it."""

    def cell(self, store: Path) -> Cell | None:
        """What was measured, if it was."""
        return Cells(store).get(self.identity(), self.code(), any_code=self.any_code)

    def done(self, store: Path) -> bool:
        """Whether the cell is there."""
        return self.cell(store) is not None

    def carry_out(self, store: Path, progress: Progress) -> None:
        """Make the cell and keep it."""
        Cells(store).put(self.identity(), self.code(), self.measure(store, progress))
