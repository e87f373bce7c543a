"""The honesty-curiosity plane: what a provider does for users and what it learns (HBC, Section 3)."""

from __future__ import annotations

from leakrange.report.charts.canvas import (
    Canvas,
    Key,
    Picture,
    draw,
    faint,
    marker_of,
    name_axes,
    series,
    share_axis,
)
from leakrange.report.findings import Findings
from leakrange.report.numbers import deviation, percent
from leakrange.scenario.results import Summary

__all__ = ["planes"]


def planes(findings: Findings) -> list[Picture]:
    """One plane per data set and pair of attributes; a point is a provider under a defence."""
    tasks = dict.fromkeys((subject.data, subject.target, subject.sensitive) for subject in findings.subjects)
    return [picture for task in tasks if (picture := _plane(findings, task)) is not None]


def _plane(findings: Findings, task: tuple[str, str, str]) -> Picture | None:
    subjects = [s for s in findings.subjects if (s.data, s.target, s.sensitive) == task]
    shown = [
        (index, subject, defence, row)
        for index, subject in enumerate(subjects)
        for defence in findings.defences
        if (row := findings.best.get((subject, defence))) is not None and row.honesty is not None
    ]
    if not shown:
        return None
    data, target, sensitive = task
    majorities = [row.majority for *_, row in shown if row.majority is not None]
    majority = sum(majorities) / len(majorities) if majorities else None

    def paint(canvas: Canvas) -> None:
        axes = canvas.axes
        for index, subject, defence, row in shown:
            _point(canvas, row, f"{findings.label(subject)}, {defence}", findings.colour(defence), index)
        honesty = [row.honesty[0] for *_, row in shown if row.honesty]
        pad = max(0.012, 0.12 * (max(honesty) - min(honesty)))
        axes.set_xlim(min(honesty) - pad, min(1.005, max(honesty) + pad))
        lows = [row.curiosity[0] for *_, row in shown if row.curiosity] + (
            [majority] if majority is not None else []
        )
        axes.set_ylim(max(-0.02, min(lows) - 0.07), 1.02)
        if majority is not None:
            faint(axes, majority)
            axes.text(
                0.015, majority - 0.008, f"majority class {percent(majority)}", va="top",
                transform=axes.get_yaxis_transform(),
            )  # fmt: skip
        axes.locator_params(axis="x", nbins=5)
        share_axis(axes)
        share_axis(axes, x=True)
        name_axes(axes, "honesty: decisions that are right", "curiosity: secrets guessed right")

    parts = "; ".join(
        f"{findings.label(subject)} under {defence}: "
        f"honesty {percent(row.honesty[0] if row.honesty else None)}, "
        f"curiosity {percent(row.curiosity[0] if row.curiosity else None)}"
        for _, subject, defence, row in shown
    )
    keys = [Key(name, marker=i) for i, name in {i: findings.label(s) for i, s, *_ in shown}.items()]
    return Picture(
        title=f"{data}: {sensitive} hidden behind {target}",
        svg=draw(
            f"Honesty-curiosity plane of {data}. {parts}.",
            paint,
            width=350,
            height=310,
            margins=(32, 14, 46, 54),
        ),
        keys=tuple(keys),
    )


def _point(canvas: Canvas, row: Summary, name: str, colour: int, shape: int) -> None:
    if row.honesty is None or row.curiosity is None:
        return
    (x, x_deviation, _), (y, y_deviation, _) = row.honesty, row.curiosity
    if x_deviation is not None and y_deviation is not None:
        canvas.axes.errorbar(
            [x],
            [y],
            xerr=[x_deviation],
            yerr=[y_deviation],
            fmt="none",
            ecolor=series(colour),
            elinewidth=1,
            alpha=0.7,
        )
    [mark] = canvas.axes.plot(
        [x], [y], marker=marker_of(shape), markersize=8, color=series(colour), alpha=0.85, markeredgewidth=0
    )
    canvas.tip(
        mark,
        f"{name} against {row.attack} ({row.knowledge}), budget {row.budget}: "
        f"honesty {percent(x)} {deviation(x_deviation, of_percent=True)}, "
        f"curiosity {percent(y)} {deviation(y_deviation, of_percent=True)}",
    )
