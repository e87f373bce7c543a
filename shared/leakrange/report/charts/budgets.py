"""Leakage against budget: the number of samples that an attacker needs."""

from __future__ import annotations

from leakrange.metrics.numbers import figure
from leakrange.report.charts.definition import definition_of, figures
from leakrange.report.charts.drawing import Axis, Picture, lines, picture, points, rules
from leakrange.report.charts.leakage import chance_line, leakage_axis
from leakrange.report.findings import Findings, Subject, leak, leaked, level, measures
from leakrange.scenario.results import Summary

__all__ = ["budget_axis", "budget_lines"]


def budget_lines(findings: Findings, data: str) -> list[Picture]:
    """One chart per provider, attack and knowledge on ``data``, one line per defence.

    There is none where there is a single budget.
    """
    pictures = []
    for subject in findings.of_data(data):
        rows = [row for row in findings.summaries if Subject.of(row) == subject and leak(row) is not None]
        for attack, knowledge in dict.fromkeys((row.attack, row.knowledge) for row in rows):
            chosen = [row for row in rows if (row.attack, row.knowledge) == (attack, knowledge)]
            if len({row.budget for row in chosen}) > 1:
                pictures.append(_draw(findings, subject, f"{attack} ({knowledge})", chosen))
    return pictures


def _draw(findings: Findings, subject: Subject, attack: str, rows: list[Summary]) -> Picture:
    metric = subject.metric
    x, y = budget_axis(sorted({row.budget for row in rows})), leakage_axis(metric, rows, 0.06)
    dots, spread, texts = [], [], []
    for defence in findings.defences:
        line = sorted((row for row in rows if row.defence == defence), key=lambda row: row.budget)
        if not line:
            continue
        entries = [f"{figure(leaked(row), metric.unit)} at {row.budget}" for row in line]
        index = findings.colour(defence)
        look = {"line": defence, "colour": index, "marker": index, "dash": index}
        tip = f"{defence}: {', '.join(entries)}"
        for row in line:
            value = leaked(row)
            dots.append({"x": row.budget, "y": value, "tip": tip, **look})
            half = (leakage.deviation if (leakage := leak(row)) else None) or 0.0
            spread.append({"x": row.budget, "y": value - half, "y2": value + half, "colour": index})
        texts.append(f"{defence} {entries[0]} and {entries[-1]}")
    name = findings.label(subject)
    return picture(
        f"{name}: {attack}",
        f"{metric.title} against budget for {name} on {subject.data}, attack {attack}: {'; '.join(texts)}.",
        [
            chance_line(level(rows), y),
            rules(spread, x, y),
            lines(dots, x, y, width=1.8),
            points(dots, x, y, size=42),
        ],
        table=figures(rows, measures(metric)),
        definition=definition_of(findings, rows, measures(metric)),
    )


def budget_axis(budgets: list[int], title: str = "budget, samples (log scale)") -> Axis:
    """An axis with marks at the budgets themselves, but fewer where they would be closer than a sixth of the
    axis."""
    span = budgets[-1] / budgets[0]
    ticks = [budgets[0]]
    for budget in budgets[1:]:
        if budget / ticks[-1] >= span ** (1 / 6):
            ticks.append(budget)
    ends = (budgets[0] / 1.25, budgets[-1] * 1.25)
    return Axis(title, "count", ends=ends, ticks=ticks, log=True)
