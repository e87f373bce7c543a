"""The table at a glance: the result of the strongest attack, by provider and defence."""

from __future__ import annotations

from dataclasses import dataclass

from leakrange.metrics import OverSeeds, numbers
from leakrange.metrics import summarise as over_seeds
from leakrange.metrics.verdict import Grade
from leakrange.report.findings import Findings, Subject, chance, gap, leak, utility, utility_metric
from leakrange.report.headline import grade_of
from leakrange.scenario.results import Summary

__all__ = ["GlanceCell", "GlanceRow", "by_other_seeds", "glance"]


@dataclass(frozen=True)
class GlanceCell:
    """One field of the table at a glance: the distance of the attack, its ``grade`` (None for an audit), the
    utility ``beside`` it, and its full text."""

    shade: float
    grade: Grade | None
    figure: str
    beside: str
    full: str


@dataclass(frozen=True)
class GlanceRow:
    """One provider in the table at a glance; None where a defence was not measured."""

    subject: Subject
    label: str
    cells: list[GlanceCell | None]


def glance(findings: Findings) -> dict[str, list[GlanceRow]]:
    """For each task the subjects with any figure, each with one cell per defence."""
    rows: dict[str, list[GlanceRow]] = {}
    for subject in findings.subjects:
        attacks = [findings.best.get((subject, defence)) for defence in findings.defences]
        if any(attacks):
            question = f"{subject.sensitive} hidden behind {subject.target}"
            if subject.metric.role == "suspicion":
                question = f"audits for {subject.target}"
            task = f"{subject.data}: {question}, {subject.metric.title}"
            cells = [None if row is None else _cell(row, subject, findings) for row in attacks]
            rows.setdefault(task, []).append(GlanceRow(subject, findings.label(subject), cells))
    return rows


def by_other_seeds(subject: Subject, defence: str, findings: Findings) -> OverSeeds | None:
    """The figure of the attack that is strongest in the mean of the other seeds, seed by seed: no attack is
    chosen by the figure that counts here, as the strongest of many is. None of fewer than two seeds that all
    attacks have."""
    metric, sign = subject.metric.name, 1 if subject.metric.higher else -1
    tried = [
        {trial.seed: value for trial in findings.trials(row) if (value := trial.value(metric)) is not None}
        for row in findings.tried[subject, defence]
    ]
    seeds = set.intersection(*map(set, tried))
    if len(seeds) < 2:
        return None
    chosen = [
        max(tried, key=lambda values: sum(sign * values[other] for other in seeds - {seed}))[seed]
        for seed in sorted(seeds)
    ]
    return over_seeds(chosen)


SAID = {"leaks": "", "none": ", no leak found", "unclear": ", cannot tell"}


def _cell(row: Summary, subject: Subject, findings: Findings) -> GlanceCell:
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
    utility_text = "utility not measured"
    if served is not None and used is not None:
        utility_text = numbers.titled(served, used.mean)
    attack = f"{row.attack} ({row.knowledge}), budget {row.budget:,}, {numbers.count(row.count, 'seed')}"
    word = "leaks" if metric.role == "suspicion" else findings.verdicts[subject, row.defence].word
    full = f"{metric.title} {value} ({above}{SAID[word]}), {utility_text}; {attack}"
    if (other := by_other_seeds(subject, row.defence, findings)) is not None:
        picked = numbers.figure(other.mean, metric.unit), numbers.deviation(other.deviation, metric.unit)
        full += f"; by the attack that is strongest on the other seeds {' '.join(picked)}"
    beside = utility_text.removesuffix(f"{numbers.SPACE}%")
    return GlanceCell(
        _shade(row, subject, findings), grade_of(findings, subject, row.defence), value, beside, full
    )


def _shade(row: Summary, subject: Subject, findings: Findings) -> float:
    """The way beyond chance or the control against the longest possible, or, where the scale has no end,
    against the longest of the run; 0 where no leak was found."""
    metric, level = subject.metric, chance(row)
    if metric.role == "suspicion" or findings.verdicts[subject, row.defence].word == "none":
        return 0.0
    if metric.best is not None:
        most = 0.0 if level is None else abs(metric.best - level)
    else:
        same = (each for (other, _), each in findings.best.items() if other.leakage == subject.leakage)
        most = max(findings.way(each) for each in same)
    return min(1.0, findings.way(row) / most) if most > 0 else 0.0
