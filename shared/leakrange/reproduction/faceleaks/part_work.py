"""One part of a reproduction of FACELEAKS under one seed, as a piece of work that can be resumed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leakrange.reproduction.cells import Cell, Cells
from leakrange.reproduction.faceleaks.channel import Range
from leakrange.reproduction.faceleaks.settings import Settings
from leakrange.reproduction.work import Progress

__all__ = ["PartWork"]


@dataclass(frozen=True)
class PartWork:
    """``part`` of `parts.PARTS` under ``seed``. ``where`` is the range whose services are asked, and
    ``models`` the folder that its provider serves from; None to show what is there only."""

    part: str
    seed: int
    settings: Settings
    where: Range | None
    models: Path | None
    any_code: bool = False

    @property
    def title(self) -> str:
        """The part and the seed."""
        return f"FACELEAKS {self.part}, seed {self.seed}"

    def identity(self) -> Any:
        """Of its cell: all that decides it but the code."""
        return ["faceleaks", self.part, self.seed, asdict(self.settings)]

    def cell(self, store: Path) -> Cell | None:
        """What was measured, if it was."""
        return Cells(store).get(self.identity(), self._code(), any_code=self.any_code)

    def done(self, store: Path) -> bool:
        """Whether the cell is there."""
        return self.cell(store) is not None

    def carry_out(self, store: Path, progress: Progress) -> None:
        """Make the models that are missing, ask what was not asked yet, measure, keep."""
        from leakrange.reproduction.faceleaks.channel import Channel
        from leakrange.reproduction.faceleaks.parts import PARTS
        from leakrange.reproduction.faceleaks.scene import Scene

        assert self.where is not None
        assert self.models is not None
        channel = Channel(self.where, store)
        cell = PARTS[self.part](Scene(self.settings, self.seed, self.models, channel), progress)
        cell["asked"], cell["code"] = channel.asked, self._code()
        Cells(store).put(self.identity(), self._code(), cell)

    def _code(self) -> str:
        return self.settings.recipe(self.seed).code
