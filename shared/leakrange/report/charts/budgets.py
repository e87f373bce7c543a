"""Leakage against budget: how many samples an attacker needs."""

from __future__ import annotations

from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from leakrange.report.charts.canvas import (
    Canvas,
    Picture,
    dash_of,
    draw,
    faint,
    marker_of,
    name_axes,
    series,
    share_axis,
)
from leakrange.report.findings import Findings, Subject
from leakrange.report.numbers import percent
from leakrange.scenario.results import Summary

__all__ = ["budget_lines"]


def budget_lines(findings: Findings, data: str) -> list[Picture]:
    """One chart per provider, attack and knowledge on ``data``, one line per defence.

    None where there is a single budget.
    """
    pictures = []
    for subject in findings.of_data(data):
        rows = [row for row in findings.summaries if Subject.of(row) == subject and row.curiosity is not None]
        for attack, knowledge in dict.fromkeys((row.attack, row.knowledge) for row in rows):
            chosen = [row for row in rows if (row.attack, row.knowledge) == (attack, knowledge)]
            if len({row.budget for row in chosen}) > 1:
                pictures.append(_draw(findings, subject, f"{attack} ({knowledge})", chosen))
    return pictures


def _draw(findings: Findings, subject: Subject, attack: str, rows: list[Summary]) -> Picture:
    majorities = [row.majority for row in rows if row.majority is not None]
    majority = sum(majorities) / len(majorities) if majorities else None
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
            values = [row.curiosity[0] for row in line if row.curiosity]
            spread = [row.curiosity[1] or 0.0 for row in line if row.curiosity]
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
                + ", ".join(f"{percent(v)} at {r.budget}" for v, r in zip(values, line, strict=True)),
            )
        if majority is not None:
            faint(axes, majority)
        axes.xaxis.set_major_locator(FixedLocator(_ticks(budgets)))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_xlim(budgets[0] / 1.25, budgets[-1] * 1.25)
        lowest = min([row.curiosity[0] for row in rows if row.curiosity] + majorities)
        axes.set_ylim(max(-0.02, lowest - 0.06), 1.02)
        share_axis(axes)
        name_axes(axes, "budget, samples (log scale)", "curiosity")

    said = "; ".join(
        f"{defence} {percent(line[0].curiosity[0] if line[0].curiosity else None)} at {line[0].budget} and "
        f"{percent(line[-1].curiosity[0] if line[-1].curiosity else None)} at {line[-1].budget}"
        for defence, line in lines.items()
    )
    name = findings.label(subject)
    return Picture(
        title=f"{name}: {attack}",
        svg=draw(f"Curiosity against budget for {name} on {subject.data}, attack {attack}: {said}.", paint),
    )


def _ticks(budgets: list[int]) -> list[int]:
    """The budgets themselves, thinned where they would stand closer than a sixth of the axis."""
    span = budgets[-1] / budgets[0]
    kept = [budgets[0]]
    for budget in budgets[1:]:
        if budget / kept[-1] >= span ** (1 / 6):
            kept.append(budget)
    return kept
