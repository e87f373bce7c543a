"""Several runs side by side: the differences of their scenarios, and the figures that they share.

Cells are the same where data, provider, hidden attribute, attack, knowledge, defence and budget have the same
names and the attack is of the same kind. The definitions behind the names may differ; that is a difference of
the scenarios.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from leakrange.attacks.kinds import leakage_of
from leakrange.metrics import Metric, OverSeeds, described
from leakrange.metrics.intervals import difference_of_means, summarise
from leakrange.metrics.numbers import count
from leakrange.report.as_data import theme
from leakrange.report.charts.overlaid import overlaid
from leakrange.report.charts.picture import Picture
from leakrange.report.findings import Findings, utility_metric
from leakrange.scenario.differences import differences
from leakrange.scenario.results import Summary
from leakrange.wire.comparison import (
    Change,
    ComparedCell,
    ComparedRun,
    Comparison,
    RunFigure,
    ScenarioDifference,
)
from leakrange.wire.runs import FINAL
from leakrange.wire.views import Column, Table, Value

__all__ = ["LETTERS", "SHARED", "charts", "compared", "table"]

LETTERS = "ABCDEF"
SHARED = ("data", "provider", "sensitive", "kind", "defence", "attack", "knowledge", "budget")
"""The fields by which cells of several runs are the same."""


def compared(runs: Sequence[Findings], pictures: Sequence[Picture]) -> Comparison:
    """The comparison of two to six runs with the first of them; ``pictures`` are their `charts`."""
    cells = list(_cells(runs))
    return Comparison(
        runs=[
            ComparedRun(
                letter=letter,
                run=each.results.run,
                name=each.results.name,
                state=each.results.state,
                created=each.results.created,
            )
            for letter, each in zip(LETTERS, runs, strict=False)
        ],
        differences=[
            ScenarioDifference(path=path, values=values)
            for path, values in differences([each.results.scenario for each in runs])
        ],
        cells=cells,
        notes=list(_notes(runs, cells)),
        charts=[picture.data(table=True) for picture in pictures],
        theme=theme(),
    )


def charts(runs: Sequence[Findings]) -> list[Picture]:
    """Charts that show all runs on top of one another."""
    return overlaid(dict(zip(LETTERS, runs, strict=False)))


def _cells(runs: Sequence[Findings]) -> Iterable[ComparedCell]:
    by_run = [{_key(row): row for row in each.summaries} for each in runs]
    for key, first in by_run[0].items():
        rows = [rows.get(key) for rows in by_run]
        if not any(rows[1:]):
            continue
        for metric in _metrics(first):
            figures = [
                _by_seed(each, row, metric) if row is not None else {}
                for each, row in zip(runs, rows, strict=True)
            ]
            if figures[0] and any(figures[1:]):
                yield _cell(key, metric, figures)


def _key(row: Summary) -> tuple[Any, ...]:
    return tuple(getattr(row, name) for name in SHARED)


def _metrics(row: Summary) -> list[Metric]:
    """The metrics of leakage and of utility."""
    return [each for each in (leakage_of(row.kind), utility_metric(row)) if each is not None]


def _by_seed(findings: Findings, row: Summary, metric: Metric) -> dict[int, float]:
    values = {trial.seed: trial.value(metric.name) for trial in findings.trials(row)}
    return {seed: value for seed, value in sorted(values.items()) if value is not None}


def _cell(key: tuple[Any, ...], metric: Metric, figures: Sequence[Mapping[int, float]]) -> ComparedCell:
    return ComparedCell(
        **dict(zip(SHARED, key, strict=True)),
        metric=metric.name,
        title=metric.title,
        unit=metric.unit,
        role=metric.role,
        figures=[_standing(each) for each in figures],
        changes=[None, *(_change(figures[0], each) for each in figures[1:])],
    )


def _standing(values: Mapping[int, float]) -> RunFigure | None:
    if not values:
        return None
    over: OverSeeds = summarise(list(values.values()))
    low, high = over.interval or (None, None)
    return RunFigure(mean=over.mean, deviation=over.deviation, low=low, high=high, seeds=list(values))


def _change(first: Mapping[int, float], other: Mapping[int, float]) -> Change | None:
    if not other:
        return None
    change = difference_of_means(first, other)
    low, high = change.interval or (None, None)
    return Change(
        value=change.value,
        low=low,
        high=high,
        method=change.method,
        freedom=change.freedom,
        clear=change.clear,
    )


def _notes(runs: Sequence[Findings], cells: Sequence[ComparedCell]) -> Iterable[str]:
    changes = [change for cell in cells for change in cell.changes if change is not None]
    judged = [change for change in changes if change.method != "none"]
    if judged:
        yield (
            f"Each interval covers its difference in 95 of 100 cases: of {count(len(judged), 'difference')}, "
            f"{sum(change.clear for change in judged)} are clear of zero, and about {len(judged) / 20:.1f} "
            "would be if nothing had changed at all."
        )
    if len(judged) < len(changes):
        yield "Differences of a single seed have no interval: run both under two or more seeds."
    if any(change.method == "welch" for change in judged):
        yield "Where the seeds are not the same the interval is Welch's; paired seeds tell smaller changes."
    going = [each.results.run for each in runs if each.results.state not in FINAL]
    if going:
        yield f"Not finished yet: {', '.join(going)}."


def table(comparison: Comparison) -> Table:
    """A row for each metric of each shared cell: its figure in each run, and the changes since the first."""
    columns = [*(Column(name) for name in SHARED), Column("metric"), Column("unit")]
    for each in comparison.runs:
        columns += [Column(f"{each.letter}{part}") for part in ("", ", 95 % from", ", 95 % to", ", seeds")]
    for each in comparison.runs[1:]:
        name = f"{each.letter} less {comparison.runs[0].letter}"
        columns += [Column(f"{name}{part}") for part in ("", ", 95 % from", ", 95 % to", ", method")]
    return Table(columns, [_row(cell) for cell in comparison.cells])


def _row(cell: ComparedCell) -> list[Value]:
    values: list[Value] = [*(getattr(cell, name) for name in SHARED), cell.title, described(cell.metric).unit]
    for figure in cell.figures:
        seeds = " ".join(map(str, figure.seeds)) if figure else None
        values += [figure.mean, figure.low, figure.high, seeds] if figure else [None] * 4
    for change in cell.changes[1:]:
        values += [change.value, change.low, change.high, change.method] if change else [None] * 4
    return values
