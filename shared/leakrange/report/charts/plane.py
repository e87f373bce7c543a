"""The honesty-curiosity plane: what a provider does for users and what it learns (HBC, Section 3)."""

from __future__ import annotations

from leakrange.metrics.numbers import deviation, figure
from leakrange.report.charts.canvas import (
    Canvas,
    Key,
    Picture,
    draw,
    faint,
    marker_of,
    name_axes,
    scale_axis,
    series,
)
from leakrange.report.findings import Findings, Subject, leak, leaked, level, utility, utility_metric
from leakrange.scenario.results import Summary

__all__ = ["planes"]


def planes(findings: Findings) -> list[Picture]:
    """One plane per data set and pair of attributes; a point is a provider under a defence."""
    tasks = dict.fromkeys(
        (subject.data, subject.target, subject.sensitive, subject.leakage) for subject in findings.subjects
    )
    return [picture for task in tasks if (picture := _plane(findings, task)) is not None]


def _plane(findings: Findings, task: tuple[str, str, str, str]) -> Picture | None:
    subjects = [s for s in findings.subjects if (s.data, s.target, s.sensitive, s.leakage) == task]
    shown = [
        (index, subject, defence, row)
        for index, subject in enumerate(subjects)
        for defence in findings.defences
        if (row := findings.best.get((subject, defence))) is not None and utility(row) is not None
    ]
    if not shown:
        return None
    data, target, sensitive, _ = task
    metric, served = shown[0][1].metric, utility_metric(shown[0][3])
    majority = level([row for *_, row in shown])
    assert served is not None  # else it is not shown

    def paint(canvas: Canvas) -> None:
        axes = canvas.axes
        for index, subject, defence, row in shown:
            _point(canvas, row, f"{findings.label(subject)}, {defence}", findings.colour(defence), index)
        used = [found.mean for *_, row in shown if (found := utility(row))]
        pad = max(0.012, 0.12 * (max(used) - min(used)))
        axes.set_xlim(min(used) - pad, min(1.005, max(used) + pad))
        if metric.best is not None:
            lows = [leaked(row) for *_, row in shown] + ([majority] if majority is not None else [])
            axes.set_ylim(max(-0.02, min(lows) - 0.07), 1.02)
        if majority is not None:
            faint(axes, majority)
            axes.text(
                0.015, majority - 0.008, f"chance {figure(majority, metric.unit)}", va="top",
                transform=axes.get_yaxis_transform(),
            )  # fmt: skip
        axes.locator_params(axis="x", nbins=5)
        scale_axis(axes, metric.unit)
        scale_axis(axes, served.unit, x=True)
        name_axes(axes, served.title, metric.title)

    parts = "; ".join(
        f"{findings.label(subject)} under {defence}: {_said(row)}" for _, subject, defence, row in shown
    )
    keys = [Key(name, marker=i) for i, name in {i: findings.label(s) for i, s, *_ in shown}.items()]
    return Picture(
        title=f"{data}: {sensitive} hidden behind {target}",
        svg=draw(
            f"Plane of {served.title} and {metric.title} on {data}. {parts}.",
            paint,
            width=350,
            height=310,
            margins=(32, 14, 46, 54),
        ),
        keys=tuple(keys),
    )


def _said(row: Summary) -> str:
    """Both figures with their deviations."""
    said = []
    for metric, found in ((utility_metric(row), utility(row)), (Subject.of(row).metric, leak(row))):
        if metric is not None and found is not None:
            spread = deviation(found.deviation, metric.unit)
            said.append(f"{metric.title} {figure(found.mean, metric.unit)} {spread}".rstrip())
    return ", ".join(said)


def _point(canvas: Canvas, row: Summary, name: str, colour: int, shape: int) -> None:
    used, found = utility(row), leak(row)
    if used is None or found is None:
        return
    if used.deviation is not None and found.deviation is not None:
        canvas.axes.errorbar(
            [used.mean],
            [found.mean],
            xerr=[used.deviation],
            yerr=[found.deviation],
            fmt="none",
            ecolor=series(colour),
            elinewidth=1,
            alpha=0.7,
        )
    [mark] = canvas.axes.plot(
        [used.mean], [found.mean], marker=marker_of(shape), markersize=8, color=series(colour), alpha=0.85,
        markeredgewidth=0,
    )  # fmt: skip
    canvas.tip(mark, f"{name} against {row.attack} ({row.knowledge}), budget {row.budget}: {_said(row)}")
