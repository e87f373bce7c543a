"""The adaptivity gap: how much an attacker gains by knowing the defence or by asking again."""

from __future__ import annotations

from leakrange.metrics.numbers import figure
from leakrange.report.charts.canvas import MUTED, Canvas, Picture, draw, faint, marker_of, scale_axis, series
from leakrange.report.findings import Findings, Subject, leak, leaked, level
from leakrange.scenario.results import Summary

__all__ = ["KNOWLEDGES", "adaptivity"]

NARROWEST = 0.1
"""The axis spans at least this share of 1, so that mere noise does not look like a gap."""

KNOWLEDGES = ("unaware", "aware", "averaging")


def adaptivity(findings: Findings, data: str) -> list[Picture]:
    """One chart per provider and attack on ``data`` with several knowledges, at its largest budget."""
    pictures = []
    for subject in findings.of_data(data):
        rows = [row for row in findings.summaries if Subject.of(row) == subject and leak(row) is not None]
        for attack in dict.fromkeys(row.attack for row in rows):
            chosen = [row for row in rows if row.attack == attack]
            top = max(row.budget for row in chosen)
            chosen = [row for row in chosen if row.budget == top]
            if len({row.knowledge for row in chosen}) > 1:
                pictures.append(_draw(findings, subject, attack, chosen))
    return pictures


def _shorten(name: str) -> str:
    return name if len(name) <= 14 else name[:13] + "…"


def _draw(findings: Findings, subject: Subject, attack: str, rows: list[Summary]) -> Picture:
    defences = [defence for defence in findings.defences if any(row.defence == defence for row in rows)]
    metric, majority = subject.metric, level(rows)

    def paint(canvas: Canvas) -> None:
        axes = canvas.axes
        for place, defence in enumerate(defences):
            here = [row for row in rows if row.defence == defence]
            values = [leaked(row) for row in here]
            axes.plot(
                [min(values), max(values)], [place, place], color=MUTED, linewidth=2, alpha=0.6, zorder=2
            )
            for row, value in zip(here, values, strict=True):
                index = KNOWLEDGES.index(row.knowledge) if row.knowledge in KNOWLEDGES else len(KNOWLEDGES)
                [mark] = axes.plot(
                    [value], [place], marker=marker_of(index), markersize=8.5, color=series(index + 1),
                    alpha=0.9, markeredgewidth=0, zorder=3,
                )  # fmt: skip
                canvas.tip(mark, f"{defence}, {row.knowledge}: {figure(value, metric.unit)}")
        if majority is not None:
            faint(axes, majority, across=False)
        axes.set_yticks(range(len(defences)), [_shorten(defence) for defence in defences])
        axes.set_ylim(len(defences) - 0.5, -0.5)
        found = [leaked(row) for row in rows] + ([] if majority is None else [majority])
        middle, reach = (min(found) + max(found)) / 2, max(NARROWEST, max(found) - min(found)) / 2
        axes.set_xlim(middle - 1.15 * reach, middle + 1.15 * reach)
        axes.grid(visible=False, axis="y")
        axes.locator_params(axis="x", nbins=4)
        scale_axis(axes, metric.unit, x=True)
        axes.set_xlabel(f"{metric.title} (dashed: chance)")

    said = "; ".join(
        f"{defence}: "
        + ", ".join(
            f"{row.knowledge} {figure(leaked(row), metric.unit)}" for row in rows if row.defence == defence
        )
        for defence in defences
    )
    name = findings.label(subject)
    return Picture(
        title=f"{name}: {attack}",
        svg=draw(
            f"Adaptivity gap of {name} on {subject.data}, attack {attack}. {said}.",
            paint,
            height=60 + 30 * len(defences),
            margins=(6, 14, 44, 98),
        ),
        note=f"budget {rows[0].budget}",
    )
