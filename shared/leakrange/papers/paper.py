"""The interface of a paper: its rows, the trial that measures each, and the texts of its page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import Any, ClassVar

from leakrange.metrics import described, unmeasurable
from leakrange.metrics.numbers import MISSING, NOT_MEASURABLE
from leakrange.papers import template
from leakrange.papers.cells import Cell, Cells
from leakrange.papers.earlier import COLUMN, VERSION, marks, sentences
from leakrange.papers.orderings import Orderings
from leakrange.papers.sheet import Sheet
from leakrange.papers.targets import PaperRow, read_rows, select
from leakrange.papers.trials import PaperTrial
from leakrange.report.charts.drawing import Picture
from leakrange.report.document import Document, PaperColumn, PaperLine, PaperSection
from leakrange.scenario.results import TrialResult
from leakrange.strict import Strict

__all__ = ["Measured", "Paper", "PaperSettings"]

NOT_MEASURED = "not measured with this version"

Measured = Mapping[PaperRow, Sequence[Cell]]
"""The cells of each row, one for each seed that was measured, with that ``seed`` in each, and the version of
the attack that measured it (`VERSION`), which is the same for all of a row."""


class PaperSettings(Strict):
    """Choices of a user who reproduces a paper."""


class Paper:
    """A paper under the settings of one reproduction.

    Beside its module stand ``targets.csv``, the figures of its tables under the names of the metrics that
    measure them, and ``paper.yaml``, its `sheet`. ``version`` is raised when the same trials give other
    figures than before.
    """

    sheet: ClassVar[Sheet]
    version: ClassVar[int] = 1
    Settings: ClassVar[type[PaperSettings]]

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @classmethod
    def rows(cls) -> tuple[PaperRow, ...]:
        """Every row, in the paper's order."""
        return _rows(cls.__module__.rpartition(".")[0], tuple(cls.sheet.figures))

    @classmethod
    def select(cls, chosen: Iterable[str], filters: str = "") -> list[PaperRow]:
        """The rows of the ``chosen`` tables, each of which may bring a filter of its own: ``3:Y=3,S=2|5``.
        Raises `InvalidInput` where a table has none."""
        rows: list[PaperRow] = []
        for each in chosen:
            table, _, table_filter = each.partition(":")
            rows += select(cls.rows(), table, ",".join(filter(None, (table_filter, filters))))
        return rows

    def names(self, row: PaperRow) -> Mapping[str, Any]:  # noqa: ARG002
        """What the paper computes for a row, under the names that its sheet uses."""
        return {}

    def words(self) -> Mapping[str, Any]:
        """What the paper computes for the texts of its page, under the names that its sheet uses."""
        return {}

    def _names(self, row: PaperRow, **others: Any) -> dict[str, Any]:
        """All that a template may name; a setting stands in for a field that the row leaves open."""
        given = {name: value for name, value in row.fields.items() if value}
        return {**row.fields, **vars(self.settings), **given, **self.names(row), "table": row.table, **others}

    def _text(self, pattern: str) -> str:
        return template.text(pattern, {**vars(self.settings), **self.words()})

    def trial(self, row: PaperRow, seed: int) -> PaperTrial:
        """The trial that measures a row under one seed."""
        return template.trial(self.sheet.trial, self._names(row, seed=seed), seed)

    def label(self, row: PaperRow) -> list[str]:
        """The texts before a row's figures."""
        names = self._names(row)
        names["setting"] = template.text(self.sheet.tables[row.table].setting, names)
        return [template.text(each, names) for each in self.sheet.labels.values()]

    def notes(self, table: str) -> Sequence[str]:
        """The titles of a table's columns behind the figures: those that do not come out empty."""
        notes = self.sheet.tables[table].notes
        return [*filter(None, map(self._text, self.sheet.notes if notes is None else notes))]

    def note(self, row: PaperRow, measured: Measured) -> list[str]:  # noqa: ARG002
        """The texts behind a row's figures."""
        return []

    def remark(self, table: str) -> str:
        """The text above a table."""
        return self._text(self.sheet.tables[table].remark)

    def pictures(self, table: str, measured: Measured) -> list[Picture]:  # noqa: ARG002
        """The pictures below a table."""
        return []

    def conclusions(self, measured: Measured) -> list[PaperSection]:
        """The sections behind all tables, which draw conclusions from them together."""
        orderings = Orderings(self.value, self.sheet.naming, self.sheet.decimals)
        return orderings.sections(self.sheet.claims, measured)

    def differences(self, measured: Measured) -> list[str]:
        """The settings in which ours differ from the paper's."""
        of_rows = [self._names(row) for row, cells in measured.items() if cells]
        texts: list[str] = []
        for each in self.sheet.differences:
            if each.rows is None:
                texts.append(self._text(each.text))
            else:
                fitting = (names for names in of_rows if template.fits(each.rows, names))
                texts += [template.text(each.text, names) for names in fitting]
        return [*filter(None, dict.fromkeys(texts))]

    def heading(self, figure: str) -> str:
        """The name of a figure on the page."""
        return self.sheet.headings.get(figure) or described(figure).title

    def value(self, row: PaperRow, figure: str, cell: Cell) -> float | None:  # noqa: ARG002
        """A row's figure in a cell, in the paper's units; None where it was not measured."""
        return self.scale(figure) * cell[figure] if figure in cell else None

    def scale(self, figure: str) -> float:
        """The number of the paper's units in one of ours."""
        if self.sheet.percent == "shares":
            return 100.0 if described(figure).unit == "share" else 1.0
        return 100.0 if self.sheet.percent == "all" else 1.0

    def read(self, row: PaperRow, cells: list[Cell]) -> list[Cell]:  # noqa: ARG002
        """The cells of a row as the page shows them, without figures that their noise makes meaningless."""
        return cells

    def shown(self, table: str, rows: Sequence[PaperRow]) -> Sequence[str]:
        """The figures of a table: those that the sheet has for it, or those that it prints."""
        printed = [name for name in self.sheet.figures if any(name in row.figures for row in rows)]
        return self.sheet.tables[table].figures or self.sheet.shown or printed

    def beside(self, row: PaperRow) -> Sequence[PaperRow]:  # noqa: ARG002
        """Rows that are measured with this one, for its notes; they get no lines of their own."""
        return ()

    def wanted(self, rows: Iterable[PaperRow], seeds: int) -> list[PaperTrial]:
        """The trials of those rows, each once, seed by seed: so an early end leaves whole tables."""
        counts = {each: self.most(each, seeds) for row in rows for each in (row, *self.beside(row))}
        trials = [
            self.trial(row, seed)
            for seed in range(max(counts.values(), default=0))
            for row in counts
            if seed < counts[row]
        ]
        return list({str(trial.identity()): trial for trial in trials}.values())

    def most(self, row: PaperRow, seeds: int) -> int:  # noqa: ARG002
        """The number of seeds that a row takes where ``seeds`` are asked for."""
        return seeds

    def cell(self, trial: PaperTrial, version: int | None = None) -> list[Any]:
        """The name of a trial's cell, by today's version of its attack or by another one of
        `PaperTrial.attack_versions`."""
        return [self.sheet.name, trial.identity(version), self.version]

    def kept(self, trial: PaperTrial, result: TrialResult) -> Cell:  # noqa: ARG002
        """The cell of a trial that is done: metrics, the ends of their intervals, and its `views`."""
        cell: Cell = {name: estimate.value for name, estimate in result.metrics.items()}
        for name, estimate in result.metrics.items():
            if estimate.low is not None and estimate.high is not None:
                cell |= {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        return cell | {name: result.views[name] for name in self.sheet.views if name in result.views}

    def document(self, rows: Sequence[PaperRow], seeds: int, cells: Cells, command: str) -> Document:
        """The page of those rows; figures that were not measured are left open, and those of an earlier
        version of an attack are marked."""
        measured: dict[PaperRow, list[Cell]] = {}
        distinct: dict[str, Cell] = {}  # by trial, since two rows may share one
        for row in (each for shown in rows for each in (shown, *self.beside(shown))):
            row_cells = self._stored(row, seeds, cells)
            distinct |= row_cells
            measured[row] = self.read(row, [*row_cells.values()])
        sections = [
            self._section(table, [row for row in rows if row.table == table], measured)
            for table in self.sheet.tables
            if any(row.table == table for row in rows)
        ]
        sections += self.conclusions(measured)
        differences = [
            *sentences(distinct.values()),
            *self.differences(measured),
            *_elsewhere(str(cell.get("device", "cpu")) for cell in distinct.values()),
        ]
        return Document(self.sheet.title, command, self.sheet.about, differences, sections)

    def _stored(self, row: PaperRow, seeds: int, cells: Cells) -> dict[str, Cell]:
        """The cells of a row by their names: those of the latest version of its attack that has any, so that
        no mean is of two."""
        trials = [self.trial(row, seed) for seed in range(self.most(row, seeds))]
        for version in trials[0].attack_versions() if trials else ():
            row_cells: dict[str, Cell] = {}
            for trial in trials:
                name = self.cell(trial, version.number)
                if (cell := cells.get(name)) is not None:
                    row_cells[str(name)] = cell | {"seed": trial.seed, VERSION: version}
            if row_cells:
                return row_cells
        return {}

    def _section(self, table: str, rows: Sequence[PaperRow], measured: Measured) -> PaperSection:
        figures = self.shown(table, rows)
        marked = {
            row: marks(cell for each in (row, *self.beside(row)) for cell in measured[each]) for row in rows
        }
        with_marks = any(marked.values())
        lines = [
            PaperLine(
                self.label(row),
                self._columns(row, figures, measured[row]),
                [*self.note(row, measured), str(len(measured[row])), *([marked[row]] if with_marks else ())],
            )
            for row in rows
        ]
        names = [self.heading(name) for name in figures]
        notes = (*self.notes(table), "seeds", *([COLUMN] if with_marks else ()))
        drawn = self.pictures(table, {row: measured[row] for row in rows})
        title, labels = self.sheet.tables[table].title, tuple(self.sheet.labels)
        return PaperSection(title, labels, names, notes, lines, self.remark(table), drawn)

    def _columns(self, row: PaperRow, figures: Sequence[str], cells: Sequence[Cell]) -> list[PaperColumn]:
        if cells:
            return [self._column(row, name, cells) for name in figures]
        placeholders = (NOT_MEASURED, *(MISSING for _ in figures[1:]))
        return [
            PaperColumn(row.figures.get(name), (), self.sheet.decimals, placeholder)
            for name, placeholder in zip(figures, placeholders, strict=False)
        ]

    def _column(self, row: PaperRow, name: str, cells: Sequence[Cell]) -> PaperColumn:
        values = (self.value(row, name, cell) for cell in cells)
        ours, too_few = (
            [each for each in values if each is not None],
            any(unmeasurable(name, cell) for cell in cells),
        )
        return PaperColumn(
            row.figures.get(name), ours, self.sheet.decimals, NOT_MEASURABLE if too_few else MISSING
        )


def _elsewhere(devices: Iterable[str]) -> list[str]:
    """The devices on which trials were measured, where it was not a CPU alone: a GPU rounds otherwise."""
    counted = Counter(devices)
    if not counted.keys() - {"cpu"}:
        return []
    return ["measured on: " + ", ".join(f"{name} {count:,} trials" for name, count in counted.most_common())]


@lru_cache(maxsize=16)
def _rows(package: str, figures: tuple[str, ...]) -> tuple[PaperRow, ...]:
    text = (files(package) / "targets.csv").read_text(encoding="utf-8")
    return read_rows(text, figures)
