"""The interface of a paper: its rows, the trial that measures each, and how its page reads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict

from leakrange.metrics import described, unmeasurable
from leakrange.metrics.numbers import MISSING, NOT_MEASURABLE
from leakrange.papers.cells import Cell, Cells
from leakrange.papers.orderings import Claim, Orderings
from leakrange.papers.targets import Row, read_rows, select
from leakrange.papers.trials import PaperTrial
from leakrange.report.charts.drawing import Picture
from leakrange.report.document import Column, Document, Line, Section
from leakrange.scenario.results import TrialResult

__all__ = ["Measured", "Paper", "PaperSettings"]

NOT_MEASURED = "not measured with this version"

Measured = Mapping[Row, Sequence[Cell]]
"""The cells of each row, one for each seed that was measured, and that ``seed`` in each."""


class PaperSettings(BaseModel):
    """What whoever reproduces a paper may choose."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Paper(ABC):
    """A paper under the settings of one reproduction.

    The figures of its tables stand in ``targets.csv`` beside its module, under the names of the metrics that
    measure them. ``version`` is raised when the same trials give other figures than before.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    about: ClassVar[str]
    version: ClassVar[int] = 1
    figures: ClassVar[tuple[str, ...]]
    """Metrics that its tables hold, in their order."""
    tables: ClassVar[Mapping[str, str]]
    """Titles of the tables by name, in the order of the page."""
    labels: ClassVar[tuple[str, ...]]
    seeds: ClassVar[int]
    """How often the paper measured."""
    quick: ClassVar[tuple[str, ...]]
    """Small rows of every kind, for a look that takes minutes."""
    quick_settings: ClassVar[Mapping[str, Any]]
    percent: ClassVar[bool] = True
    """Whether it writes shares in percent."""
    decimals: ClassVar[int] = 2
    claims: ClassVar[Sequence[Claim]] = ()
    """What the paper says of the order of its rows."""
    naming: ClassVar[tuple[str, ...]] = ()
    """The fields that tell which rows of a claim were compared."""
    views: ClassVar[tuple[str, ...]] = ()
    """Views of trials that its pictures are drawn from: cells keep them beside the metrics."""
    Settings: ClassVar[type[PaperSettings]]

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @classmethod
    def rows(cls) -> tuple[Row, ...]:
        """Every row, in the paper's order."""
        return _rows(cls.__module__.rpartition(".")[0], cls.figures)

    @classmethod
    def select(cls, chosen: Iterable[str], filters: str = "") -> list[Row]:
        """The rows of the ``chosen`` tables, each of which may bring a filter of its own: ``3:Y=3,S=2|5``.
        Raises `InvalidInput` where a table has none."""
        kept: list[Row] = []
        for one in chosen:
            table, _, own = one.partition(":")
            kept += select(cls.rows(), table, ",".join(filter(None, (own, filters))))
        return kept

    @abstractmethod
    def trial(self, row: Row, seed: int) -> PaperTrial:
        """The trial that measures a row under one seed."""

    @abstractmethod
    def label(self, row: Row) -> list[str]:
        """What stands before a row's figures."""

    def notes(self, table: str) -> tuple[str, ...]:  # noqa: ARG002
        """What a table's columns behind the figures are called."""
        return ()

    def note(self, row: Row, measured: Measured) -> list[str]:  # noqa: ARG002
        """What stands behind a row's figures."""
        return []

    def remark(self, table: str) -> str:  # noqa: ARG002
        """What is said above a table."""
        return ""

    def pictures(self, table: str, measured: Measured) -> list[Picture]:  # noqa: ARG002
        """What is drawn below a table."""
        return []

    def conclusions(self, measured: Measured) -> list[Section]:
        """What follows from all tables together, behind them."""
        return Orderings(self.value, self.naming, self.decimals).sections(self.claims, measured)

    def differences(self, measured: Measured) -> list[str]:  # noqa: ARG002
        """The settings in which ours differ from the paper's."""
        return []

    def heading(self, figure: str) -> str:
        """What a figure is called on the page."""
        return described(figure).title

    def value(self, row: Row, figure: str, cell: Cell) -> float | None:  # noqa: ARG002
        """A row's figure in a cell, in the paper's units; None where it was not measured."""
        scale = 100.0 if self.percent and described(figure).unit == "share" else 1.0
        return scale * cell[figure] if figure in cell else None

    def read(self, row: Row, cells: list[Cell]) -> list[Cell]:  # noqa: ARG002
        """The cells of a row as the page shows them, without what their noise does not let them tell."""
        return cells

    def shown(self, table: str, rows: Sequence[Row]) -> list[str]:  # noqa: ARG002
        """The figures of a table: those that it prints."""
        return [name for name in self.figures if any(name in row.figures for row in rows)]

    def beside(self, row: Row) -> Sequence[Row]:  # noqa: ARG002
        """Rows that are measured with this one, for its notes; they are no lines of their own."""
        return ()

    def wanted(self, rows: Iterable[Row], seeds: int) -> list[PaperTrial]:
        """The trials of those rows, seed by seed: an early end leaves whole tables. Each once."""
        most = {each: self.most(each, seeds) for row in rows for each in (row, *self.beside(row))}
        trials = [
            self.trial(row, seed)
            for seed in range(max(most.values(), default=0))
            for row in most
            if seed < most[row]
        ]
        return list({str(trial.identity()): trial for trial in trials}.values())

    def most(self, row: Row, seeds: int) -> int:  # noqa: ARG002
        """How many seeds a row takes where ``seeds`` are asked for."""
        return seeds

    def cell(self, trial: PaperTrial) -> list[Any]:
        """The name of a trial's cell."""
        return [self.name, trial.identity(), self.version]

    def kept(self, trial: PaperTrial, result: TrialResult) -> Cell:  # noqa: ARG002
        """What is kept of a trial that is done: metrics, the ends of their intervals, and its `views`."""
        cell: Cell = {name: found.value for name, found in result.metrics.items()}
        for name, found in result.metrics.items():
            if found.low is not None and found.high is not None:
                cell |= {f"{name}_low": found.low, f"{name}_high": found.high}
        return cell | {name: result.views[name] for name in self.views if name in result.views}

    def document(self, rows: Sequence[Row], seeds: int, cells: Cells, command: str) -> Document:
        """The page of those rows; what was not measured is left open."""
        measured: dict[Row, list[Cell]] = {}
        devices: dict[str, str] = {}  # of each trial: two rows may share one
        for row in (each for shown in rows for each in (shown, *self.beside(shown))):
            row_cells: list[Cell] = []
            for seed in range(self.most(row, seeds)):
                identity = self.cell(self.trial(row, seed))
                if (cell := cells.get(identity)) is not None:
                    row_cells.append(cell | {"seed": seed})
                    devices[str(identity)] = str(cell.get("device", "cpu"))
            measured[row] = self.read(row, row_cells)
        sections = [
            self._section(table, [row for row in rows if row.table == table], measured)
            for table in self.tables
            if any(row.table == table for row in rows)
        ]
        sections += self.conclusions(measured)
        differences = [*self.differences(measured), *_elsewhere(devices.values())]
        return Document(self.title, command, self.about, differences, sections)

    def _section(self, table: str, rows: Sequence[Row], measured: Measured) -> Section:
        figures = self.shown(table, rows)
        lines = [
            Line(
                self.label(row),
                self._columns(row, figures, measured[row]),
                [*self.note(row, measured), str(len(measured[row]))],
            )
            for row in rows
        ]
        names = [self.heading(name) for name in figures]
        notes = (*self.notes(table), "seeds")
        drawn = self.pictures(table, {row: measured[row] for row in rows})
        return Section(self.tables[table], self.labels, names, notes, lines, self.remark(table), drawn)

    def _columns(self, row: Row, figures: Sequence[str], cells: Sequence[Cell]) -> list[Column]:
        if cells:
            return [self._column(row, name, cells) for name in figures]
        told = (NOT_MEASURED, *(MISSING for _ in figures[1:]))
        return [
            Column(row.figures.get(name), (), self.decimals, nothing)
            for name, nothing in zip(figures, told, strict=False)
        ]

    def _column(self, row: Row, name: str, cells: Sequence[Cell]) -> Column:
        found = (self.value(row, name, cell) for cell in cells)
        ours, too_few = (
            [each for each in found if each is not None],
            any(unmeasurable(name, cell) for cell in cells),
        )
        return Column(row.figures.get(name), ours, self.decimals, NOT_MEASURABLE if too_few else MISSING)


def _elsewhere(devices: Iterable[str]) -> list[str]:
    """On which devices trials were measured, where it was not on a CPU alone: a GPU rounds otherwise."""
    counted = Counter(devices)
    if not counted.keys() - {"cpu"}:
        return []
    return ["measured on: " + ", ".join(f"{name} {count:,} trials" for name, count in counted.most_common())]


@lru_cache(maxsize=16)
def _rows(package: str, figures: tuple[str, ...]) -> tuple[Row, ...]:
    text = (files(package) / "targets.csv").read_text(encoding="utf-8")
    return read_rows(text, figures)
