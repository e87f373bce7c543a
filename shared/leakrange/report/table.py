"""The trials as tables, one row each, for spreadsheets and data frames: CSV, and Arrow."""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from leakrange.metrics import unmeasurable
from leakrange.metrics.numbers import NOT_MEASURABLE
from leakrange.scenario.results import RunResults, TrialResult
from leakrange.scenario.table import OWN, FigureColumn, columns, rows
from leakrange.wire.views import cell

__all__ = ["ArrowTable", "CsvTable", "TrialTable", "to_csv"]

NUMBERS = ("budget", "seed", "victims", "spent")


class TrialTable(ABC):
    """A table that is written in pieces, in the order `begin`, any number of `piece`, `end`."""

    media_type: str

    def __init__(self, figures: Sequence[FigureColumn]) -> None:
        self._figures = figures

    @abstractmethod
    def begin(self) -> bytes:
        """The bytes before the first row."""

    @abstractmethod
    def piece(self, trials: Sequence[TrialResult]) -> bytes:
        """The rows of these trials."""

    def end(self) -> bytes:
        """The bytes behind the last row."""
        return b""


class CsvTable(TrialTable):
    """One row per trial with every single figure in full; views are in the JSON. Empty: not measured; "not
    measurable": the trial was too small for it (`leakrange.metrics.Metric.takes`).

    A metric has a column of its name, followed by ``_low`` and ``_high`` where it has intervals. Text that a
    spreadsheet would take for a formula gets an apostrophe in front, like in spreadsheets themselves.
    """

    media_type = "text/csv"

    def begin(self) -> bytes:
        """The headings."""
        return self._written([[*OWN, *(column.heading for column in self._figures)]])

    def piece(self, trials: Sequence[TrialResult]) -> bytes:
        """See `TrialTable`."""
        return self._written([self._row(trial) for trial in trials])

    def _row(self, trial: TrialResult) -> list[str | float | None]:
        values = {name: vars(estimate) for name, estimate in trial.metrics.items()}
        cells = [
            NOT_MEASURABLE if unmeasurable(column.metric, values) else column.of(trial)
            for column in self._figures
        ]
        return [_in_full(value) for value in (*(getattr(trial, name) for name in OWN), *cells)]

    def _written(self, lines: list[list[Any]]) -> bytes:
        written = io.StringIO()
        csv.writer(written, lineterminator="\r\n").writerows(lines)
        return written.getvalue().encode()


class ArrowTable(TrialTable):
    """The same columns as a stream of Arrow record batches, which Polars, pandas and DuckDB read. What was
    not measured is null."""

    media_type = "application/vnd.apache.arrow.stream"

    def __init__(self, figures: Sequence[FigureColumn]) -> None:
        super().__init__(figures)
        import pyarrow  # here, since it is large, and few ask for Arrow

        numbers = dict.fromkeys(NUMBERS, pyarrow.int64())
        fields = [(name, numbers.get(name, pyarrow.string())) for name in OWN]
        fields += [(column.heading, pyarrow.float64()) for column in figures]
        self._schema, self._batch = pyarrow.schema(fields), pyarrow.RecordBatch
        self._bytes = io.BytesIO()
        self._stream = pyarrow.ipc.new_stream(self._bytes, self._schema)

    def begin(self) -> bytes:
        """The schema."""
        return self._taken()

    def piece(self, trials: Sequence[TrialResult]) -> bytes:
        """One record batch."""
        self._stream.write_batch(self._batch.from_pylist(rows(trials, self._figures), schema=self._schema))
        return self._taken()

    def end(self) -> bytes:
        """The mark of the end."""
        self._stream.close()
        return self._taken()

    def _taken(self) -> bytes:
        taken = self._bytes.getvalue()
        self._bytes.seek(0)
        self._bytes.truncate()
        return taken


def to_csv(results: RunResults) -> str:
    """All trials of a run as a `CsvTable`."""
    table = CsvTable(columns(results.trials))
    return (table.begin() + table.piece(results.trials)).decode()


def _in_full(value: str | float | None) -> str:
    return repr(value) if isinstance(value, float) else cell(value)
