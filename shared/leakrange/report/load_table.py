"""The figures of a run under load, as rows: the success of each attack with so many queries under each
defence, and the speed and failures of the answers."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields

from leakrange.metrics import numbers
from leakrange.report.findings import Findings, Subject, leak, leaked
from leakrange.scenario.under_load import Measured

__all__ = ["LoadTableRow", "as_csv", "as_text", "ends", "load_rows"]


@dataclass(frozen=True)
class LoadTableRow:
    """One attack on one provider under one defence, with one budget. ``spent`` is the number of samples that
    it had answered, the mean over seeds; ``low`` and ``high`` the 95 % interval of ``value``. All else is of
    the requests under that defence: the number ``answered``, shares of all that were ``refused`` (429) or
    ``failed``, and the milliseconds within which half of the answers came, and 99 of 100; None where no
    request was made under it."""

    provider: str
    attack: str
    knowledge: str
    defence: str
    budget: int
    spent: float
    metric: str
    value: float
    low: float | None
    high: float | None
    answered: int | None
    refused: float | None
    failed: float | None
    p50: float | None
    p99: float | None


def load_rows(findings: Findings) -> list[LoadTableRow]:
    """All rows of a run under load, by attack, defence and budget; none of any other run."""
    load = findings.results.load
    if load is None:
        return []
    measured = {line.defence: line for line in load.by_defence}
    return list(_rows(findings, measured))


def _rows(findings: Findings, measured: dict[str, Measured]) -> Iterator[LoadTableRow]:
    order = {name: place for place, name in enumerate(findings.defences)}
    rows = [row for row in findings.summaries if leak(row) is not None]
    rows.sort(key=lambda row: (row.provider, row.attack, row.knowledge, order[row.defence], row.budget))
    for row in rows:
        metric = Subject.of(row).metric
        uncertainty = findings.spread(row, metric)
        low, high = (None, None) if uncertainty is None else uncertainty.within()
        spent = [trial.spent for trial in findings.trials(row) if trial.spent is not None]
        line = measured.get(row.defence)
        yield LoadTableRow(
            provider=row.provider,
            attack=row.attack,
            knowledge=row.knowledge,
            defence=row.defence,
            budget=row.budget,
            spent=sum(spent) / len(spent) if spent else row.budget,
            metric=metric.name,
            value=leaked(row),
            low=low,
            high=high,
            answered=None if line is None else line.answered,
            refused=_share(line, "refused"),
            failed=_share(line, "failed"),
            p50=None if line is None else line.quantile(0.5),
            p99=None if line is None else line.quantile(0.99),
        )


def ends(findings: Findings) -> dict[tuple[str, str, str, str], str]:
    """The reason, by provider, attack, knowledge and defence, why a limit gave no more answers: at the
    smallest budget that was not reached."""
    refused = [trial for trial in findings.results.trials if trial.state == "refused" and trial.error]
    refused.sort(key=lambda trial: -trial.budget)
    return {
        (trial.provider, trial.attack, trial.knowledge, trial.defence): str(trial.error) for trial in refused
    }


def as_csv(rows: Sequence[LoadTableRow]) -> str:
    """The rows as CSV, with a heading; empty where there is no figure."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerow([field.name for field in fields(LoadTableRow)])
    writer.writerows(["" if value is None else value for value in asdict(row).values()] for row in rows)
    return written.getvalue()


def as_text(rows: Sequence[LoadTableRow]) -> str:
    """The rows in columns, for people."""
    lines = [
        (
            f"{row.provider}, {row.attack} ({row.knowledge})",
            row.defence,
            f"{row.spent:,.0f}",
            f"{row.metric} {row.value:.3f}",
            "" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}",
            _milliseconds(row.p50),
            _milliseconds(row.p99),
            _percent(row.refused),
            _percent(row.failed),
        )
        for row in rows
    ]
    head = ("attack", "defence", "spent", "reached", "95 %", "p50", "p99", "refused", "failed")
    every = [head, *lines]
    widths = [max(len(line[place]) for line in every) for place in range(len(head))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() + "\n"
        for line in every
    )


def _share(line: Measured | None, outcome: str) -> float | None:
    return None if line is None or not line.asked else float(getattr(line, outcome)) / line.asked


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.0f} ms"


def _percent(value: float | None) -> str:
    return "" if value is None else numbers.figure(value, "share")
