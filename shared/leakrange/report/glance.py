"""The table at a glance: what the strongest attack found out, by provider and defence."""

from __future__ import annotations

from dataclasses import dataclass

from leakrange.metrics import numbers
from leakrange.report.findings import Findings, Subject, chance, gap, leak, utility, utility_metric
from leakrange.scenario.results import Summary

__all__ = ["Cell", "Row", "glance"]


@dataclass(frozen=True)
class Cell:
    """One field of the table at a glance: the normalised gain, what it stands on, and its full text."""

    shade: float
    figure: str
    beside: str
    full: str


@dataclass(frozen=True)
class Row:
    """One provider in the table at a glance; None where a defence was not measured."""

    subject: Subject
    label: str
    cells: list[Cell | None]


def glance(findings: Findings) -> dict[str, list[Row]]:
    """Per task the subjects with any figure, each with one cell per defence."""
    rows: dict[str, list[Row]] = {}
    for subject in findings.subjects:
        found = [findings.best.get((subject, defence)) for defence in findings.defences]
        if any(found):
            asked = f"{subject.sensitive} hidden behind {subject.target}"
            if subject.metric.role == "suspicion":
                asked = f"audits for {subject.target}"
            task = f"{subject.data}: {asked}, {subject.metric.title}"
            cells = [None if row is None else _cell(row, subject, findings) for row in found]
            rows.setdefault(task, []).append(Row(subject, findings.label(subject), cells))
    return rows


def _cell(row: Summary, subject: Subject, findings: Findings) -> Cell:
    metric, served = subject.metric, utility_metric(row)
    leaked, used = leak(row), utility(row)
    value = numbers.figure(leaked.mean if leaked else None, metric.unit)
    distance = gap(row)
    level = numbers.figure(chance(row), metric.unit)
    above = (
        "no chance level"
        if distance is None
        else numbers.compared(distance if metric.higher else -distance, f"chance ({level})", metric.unit)
    )
    got = "utility not measured"
    if served is not None and used is not None:
        got = f"{served.title} {numbers.figure(used.mean, served.unit)}"
    attack = f"{row.attack} ({row.knowledge}), budget {row.budget:,}, {numbers.count(row.count, 'seed')}"
    full = f"{metric.title} {value} ({above}), {got}; {attack}"
    beside = got.removesuffix(f"{numbers.SPACE}%")
    return Cell(_shade(row, subject, findings), value, beside, full)


def _shade(row: Summary, subject: Subject, findings: Findings) -> float:
    """The normalised gain; where the scale has no end, the distance from chance against the greatest there
    is."""
    if subject.metric.best is not None:
        return findings.gain(row) or 0.0
    same = (each for (other, _), each in findings.best.items() if other.leakage == subject.leakage)
    most = max(gap(each) or 0.0 for each in same)
    return max(0.0, gap(row) or 0.0) / most if most > 0 else 0.0
