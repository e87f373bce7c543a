"""The table at a glance: what the strongest attack found out, by provider and defence."""

from __future__ import annotations

from dataclasses import dataclass

from leakrange.metrics import numbers
from leakrange.report.findings import Findings, Subject, chance, gap, leak, utility, utility_metric
from leakrange.scenario.results import Summary

__all__ = ["Cell", "Row", "glance"]


@dataclass(frozen=True)
class Cell:
    """One field of the table at a glance: how far the attack went, what it stands on, and its full text."""

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


SAID = {"leaks": "", "none": ", no leak found", "unclear": ", cannot tell"}


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
    word = "leaks" if metric.role == "suspicion" else findings.verdicts[subject, row.defence].word
    full = f"{metric.title} {value} ({above}{SAID[word]}), {got}; {attack}"
    beside = got.removesuffix(f"{numbers.SPACE}%")
    return Cell(_shade(row, subject, findings), value, beside, full)


def _shade(row: Summary, subject: Subject, findings: Findings) -> float:
    """The way beyond chance or the control against the longest there can be, or where the scale has no end,
    against the longest there is; 0 where no leak was found."""
    metric, level = subject.metric, chance(row)
    if metric.role == "suspicion" or findings.verdicts[subject, row.defence].word == "none":
        return 0.0
    if metric.best is not None:
        most = 0.0 if level is None else abs(metric.best - level)
    else:
        same = (each for (other, _), each in findings.best.items() if other.leakage == subject.leakage)
        most = max(findings.way(each) for each in same)
    return min(1.0, findings.way(row) / most) if most > 0 else 0.0
