"""What a figure shows, put so that its numbers can be checked: metrics with their equations, how many were
counted, and how intervals are made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from leakrange.metrics import Metric
from leakrange.metrics.numbers import count
from leakrange.report.charts.table import Column, Table, Value
from leakrange.report.findings import Findings
from leakrange.scenario.results import Summary

__all__ = ["BARS", "OVER_SEEDS", "Definition", "Term", "counted", "figures"]

OVER_SEEDS = "95 % intervals: Student’s t over seeds; there is none of a single seed."
BARS = f"Bars: one sample deviation (n − 1) over seeds. In the table also {OVER_SEEDS}"
_GOOD = {
    "utility": "serves users better",
    "leakage": "leaks more",
    "suspicion": "is more suspicious",
    "context": "",
}


@dataclass(frozen=True)
class Term:
    """One measure of a figure: its equation with the source, its unit, and in words which way is which."""

    title: str
    equation: str
    unit: str = ""
    direction: str = ""
    interval: str = ""
    """Over what the interval of a single trial is, and by whose method."""
    name: str = ""
    """Of the registered metric; empty where it is none."""

    @classmethod
    def of(cls, metric: Metric) -> Term:
        """A registered metric."""
        told = _GOOD[metric.role]
        direction = f"{'higher' if metric.higher else 'lower'} {told}" if told else ""
        unit = Column.of("", metric.unit).unit
        return cls(metric.title, metric.equation, unit, direction, metric.interval, metric.name)


@dataclass(frozen=True)
class Definition:
    """Of a figure: its measures, what its n is, and how its intervals are made; empty where it has none."""

    terms: tuple[Term, ...] = ()
    counted: str = ""
    interval: str = ""

    @classmethod
    def of(
        cls, findings: Findings, rows: Sequence[Summary], metrics: Iterable[Metric], interval: str = BARS
    ) -> Definition:
        """Of a figure of these rows."""
        terms = tuple(Term.of(metric) for metric in dict.fromkeys(metrics))
        return cls(terms, counted(findings, rows), interval)


def counted(findings: Findings, rows: Sequence[Summary]) -> str:
    """What n is: "2 seeds; 100 to 1,000 samples judged in a trial; budget 100 to 1,000 samples"."""
    trials = [trial for row in rows for trial in findings.trials(row)]
    said = [count(len({trial.seed for trial in trials}), "seed"), count(len(trials), "trial")]
    victims = [trial.victims for trial in trials if trial.victims is not None]
    if victims:
        said.append(f"{_range(victims)} samples judged in a trial")
    budgets = [row.budget for row in rows]
    return "; ".join([*said, *([f"budget {_range(budgets)} samples"] if budgets else [])])


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def figures(rows: Sequence[Summary], metrics: Iterable[Metric]) -> Table:
    """These rows with mean, sample deviation and 95 % interval over seeds of each metric."""
    chosen = list(dict.fromkeys(metrics))
    columns = [
        *(Column(name) for name in ("provider", "defence", "attack", "knowledge")),
        Column("budget", "samples"),
        Column("seeds"),
    ]
    for metric in chosen:
        columns += [
            Column.of(f"{metric.title}{part}", metric.unit)
            for part in ("", ", deviation", ", 95 % from", ", 95 % to")
        ]
    return Table(columns, [_row(row, chosen) for row in rows])


def _row(row: Summary, metrics: Sequence[Metric]) -> list[Value]:
    made: list[Value] = [row.provider, row.defence, row.attack, row.knowledge, row.budget, row.count]
    for metric in metrics:
        found = row.metrics.get(metric.name)
        made += (
            [None] * 4 if found is None else [found.mean, found.deviation, *(found.interval or (None, None))]
        )
    return made
