"""The definition of a figure, by which its numbers can be checked: metrics with their equations, the number
of counted samples, and the method of the intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leakrange.metrics import Metric
from leakrange.metrics.numbers import count
from leakrange.report.findings import Findings
from leakrange.scenario.results import Summary
from leakrange.wire.views import Column, Definition, Table, Term, Value

__all__ = ["BARS", "OVER_SEEDS", "counted", "definition_of", "figures", "term_of"]

OVER_SEEDS = "95 % intervals: Student’s t over seeds; there is none of a single seed."
BARS = f"Bars: one sample deviation (n − 1) over seeds. In the table also {OVER_SEEDS}"
_GOOD = {
    "utility": "serves users better",
    "leakage": "leaks more",
    "suspicion": "is more suspicious",
    "context": "",
}


def term_of(metric: Metric) -> Term:
    """The term of a registered metric."""
    meaning = _GOOD[metric.role]
    direction = f"{'higher' if metric.higher else 'lower'} {meaning}" if meaning else ""
    unit = Column.of("", metric.unit).unit
    return Term(metric.title, metric.equation, unit, direction, metric.interval, metric.name)


def definition_of(
    findings: Findings, rows: Sequence[Summary], metrics: Iterable[Metric], interval: str = BARS
) -> Definition:
    """The definition of a figure of these rows."""
    terms = tuple(term_of(metric) for metric in dict.fromkeys(metrics))
    return Definition(terms, counted(findings, rows), interval)


def counted(findings: Findings, rows: Sequence[Summary]) -> str:
    """The meaning of n: "2 seeds; 100 to 1,000 samples judged in a trial; budget 100 to 1,000 samples"."""
    trials = [trial for row in rows for trial in findings.trials(row)]
    counts = [count(len({trial.seed for trial in trials}), "seed"), count(len(trials), "trial")]
    victims = [trial.victims for trial in trials if trial.victims is not None]
    if victims:
        counts.append(f"{_range(victims)} samples judged in a trial")
    budgets = [row.budget for row in rows]
    return "; ".join([*counts, *([f"budget {_range(budgets)} samples"] if budgets else [])])


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def figures(rows: Sequence[Summary], metrics: Iterable[Metric], runs: Sequence[str] | None = None) -> Table:
    """A table of these rows with mean, sample deviation and 95 % interval over seeds of each metric. It names
    the ``runs`` of rows that are of one provider, else the providers."""
    chosen = list(dict.fromkeys(metrics))
    first = [row.provider for row in rows] if runs is None else runs
    columns = [
        *(Column(name) for name in ("run" if runs else "provider", "defence", "attack", "knowledge")),
        Column("budget", "samples"),
        Column("seeds"),
    ]
    for metric in chosen:
        columns += [
            Column.of(f"{metric.title}{part}", metric.unit)
            for part in ("", ", deviation", ", 95 % from", ", 95 % to")
        ]
    return Table(columns, [[name, *_row(row, chosen)] for name, row in zip(first, rows, strict=True)])


def _row(row: Summary, metrics: Sequence[Metric]) -> list[Value]:
    values: list[Value] = [row.defence, row.attack, row.knowledge, row.budget, row.count]
    for metric in metrics:
        mean = row.metrics.get(metric.name)
        values += (
            [None] * 4 if mean is None else [mean.mean, mean.deviation, *(mean.interval or (None, None))]
        )
    return values
