"""Leakage against budget: how many samples an attacker needs."""

from __future__ import annotations

from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from leakrange.metrics.numbers import figure
from leakrange.report.charts.canvas import (
    Canvas,
    Picture,
    dash_of,
    draw,
    faint,
    marker_of,
    name_axes,
    scale_axis,
    series,
)
from leakrange.report.findings import Findings, Subject, leak, leaked, level
from leakrange.scenario.results import Summary

__all__ = ["budget_lines"]


def budget_lines(findings: Findings, data: str) -> list[Picture]:
    """One chart per provider, attack and knowledge on ``data``, one line per defence.

    None where there is a single budget.
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
    metric, majority = subject.metric, level(rows)
    budgets = sorted({row.budget for row in rows})
    lines = {
        defence: sorted((row for row in rows if row.defence == defence), key=lambda row: row.budget)
        for defence in findings.defences
        if any(row.defence == defence for row in rows)
    }

    def paint(canvas: Canvas) -> None:
        axes = canvas.axes
        axes.set_xscale("log")
        for defence, line in lines.items():
            index = findings.colour(defence)
            values = [leaked(row) for row in line]
            spread = [found.deviation or 0.0 for row in line if (found := leak(row))]
            axes.errorbar(
                [row.budget for row in line], values, yerr=spread, fmt="none", ecolor=series(index),
                elinewidth=1, alpha=0.6,
            )  # fmt: skip
            [drawn] = axes.plot(
                [row.budget for row in line], values, color=series(index), linestyle=dash_of(index),
                marker=marker_of(index), markersize=6.5, markeredgewidth=0, alpha=0.9,
            )  # fmt: skip
            canvas.tip(
                drawn,
                f"{defence}: "
                + ", ".join(
                    f"{figure(v, metric.unit)} at {r.budget}" for v, r in zip(values, line, strict=True)
                ),
            )
        if majority is not None:
            faint(axes, majority)
        axes.xaxis.set_major_locator(FixedLocator(_ticks(budgets)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_xlim(budgets[0] / 1.25, budgets[-1] * 1.25)
        if metric.best is not None:
            lowest = min([leaked(row) for row in rows] + ([] if majority is None else [majority]))
            axes.set_ylim(max(-0.02, lowest - 0.06), 1.02)
        scale_axis(axes, metric.unit)
        name_axes(axes, "budget, samples (log scale)", metric.title)

    said = "; ".join(
        f"{defence} {figure(leaked(line[0]), metric.unit)} at {line[0].budget} and "
        f"{figure(leaked(line[-1]), metric.unit)} at {line[-1].budget}"
        for defence, line in lines.items()
    )
    name = findings.label(subject)
    return Picture(
        title=f"{name}: {attack}",
        svg=draw(
            f"{metric.title} against budget for {name} on {subject.data}, attack {attack}: {said}.", paint
        ),
    )


def _ticks(budgets: list[int]) -> list[int]:
    """The budgets themselves, thinned where they would stand closer than a sixth of the axis."""
    span = budgets[-1] / budgets[0]
    kept = [budgets[0]]
    for budget in budgets[1:]:
        if budget / kept[-1] >= span ** (1 / 6):
            kept.append(budget)
    return kept
