"""The plane of utility and leakage: a provider's use for its users, and what it learns (HBC, Section 3)."""

from __future__ import annotations

from typing import Any

from leakrange.metrics.numbers import deviation, figure
from leakrange.report.charts.definition import definition_of, figures
from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture, points, rules
from leakrange.report.findings import (
    Findings,
    Subject,
    leak,
    leaked,
    level,
    measures,
    utility,
    utility_metric,
)
from leakrange.report.pareto import frontier
from leakrange.scenario.results import Summary

__all__ = ["planes", "utility_axis"]

Point = tuple[int, Subject, str, Summary]


def planes(findings: Findings) -> list[Picture]:
    """One plane per data set and pair of attributes; a point is a provider under a defence.

    Metrics without a best value have none: see `leakrange.report.charts.frontier`.
    """
    bounded = [subject for subject in findings.subjects if subject.metric.best is not None]
    tasks = dict.fromkeys((s.data, s.target, s.sensitive, s.leakage) for s in bounded)
    return [chart for task in tasks if (chart := _plane(findings, task)) is not None]


def _plane(findings: Findings, task: tuple[str, str, str, str]) -> Picture | None:
    subjects = [s for s in findings.subjects if (s.data, s.target, s.sensitive, s.leakage) == task]
    cases: list[Point] = [
        (index, subject, defence, row)
        for index, subject in enumerate(subjects)
        for defence in findings.defences
        if (row := findings.best.get((subject, defence))) is not None and utility(row) is not None
    ]
    if not cases:
        return None
    data, target, sensitive, _ = task
    rows = [_row(findings, *point) for point in cases]
    x, y = _axes(cases)
    guide = [] if (chance := level([row for *_, row in cases])) is None else [{"y": chance}]
    spread = [row for row in rows if row["dx"] is not None and row["dy"] is not None]
    across = [{**row, "x": row["x"] - row["dx"], "x2": row["x"] + row["dx"]} for row in spread]
    upright = [{**row, "y": row["y"] - row["dy"], "y2": row["y"] + row["dy"]} for row in spread]
    served = dict.fromkeys(used for *_, row in cases if (used := utility_metric(row)) is not None)
    table_metrics = [*served, *measures(cases[0][1].metric)]
    names = {index: findings.label(subject) for index, subject, *_ in cases}
    text = "; ".join(f"{findings.label(s)} under {defence}: {_in_words(row)}" for _, s, defence, row in cases)
    return picture(
        f"{data}: {sensitive} hidden behind {target}",
        f"Plane of {x.title} and {y.title} on {data}. {text}.",
        [
            rules(guide, None, y, guide=True),
            lines(_frontiers(cases, rows), x, y, width=1.4, muted=True),
            rules(across, x, y),
            rules(upright, x, y),
            points(rows, x, y),
        ],
        size=(350, 310),
        margins=(32, 28, 46, 54),
        note="" if chance is None else f"dashed: chance, {figure(chance, cases[0][1].metric.unit)}",
        keys=[Key(name, marker=index, dash=index) for index, name in names.items()],
        table=figures([row for *_, row in cases], table_metrics),
        definition=definition_of(findings, [row for *_, row in cases], table_metrics),
    )


def _frontiers(cases: list[Point], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each provider the line through the defences that no other defence beats in both utility and
    leakage."""
    line: list[dict[str, Any]] = []
    for index in dict.fromkeys(index for index, *_ in cases):
        marks = {defence: mark for (at, _, defence, _), mark in zip(cases, rows, strict=True) if at == index}
        sign = next(1.0 if subject.metric.higher else -1.0 for at, subject, *_ in cases if at == index)
        best = frontier({name: (mark["x"], sign * mark["y"]) for name, mark in marks.items()})
        look = {"line": str(index), "dash": index, "colour": 0}
        line += [
            {"x": marks[name]["x"], "y": marks[name]["y"], "tip": f"frontier: {name}", **look}
            for name in best
        ]
    return line


def utility_axis(rows: list[Summary], about: int = 5) -> Axis:
    """The axis of utility, for rows that have such a figure; with ``about`` so many ticks."""
    served = utility_metric(rows[0])
    assert served is not None  # else it is not shown
    used = [estimate.mean for row in rows if (estimate := utility(row))]
    pad = max(0.012, 0.12 * (max(used) - min(used)))
    highest = max(used) + pad
    right = highest if served.best is None else min(1.005, highest)
    return Axis(served.title, served.unit, ends=(min(used) - pad, right), about=about)


def _axes(cases: list[Point]) -> tuple[Axis, Axis]:
    metric, rows = cases[0][1].metric, [row for *_, row in cases]
    chance = level(rows)
    lows = [leaked(row) for row in rows] + ([] if chance is None else [chance])
    return utility_axis(rows), Axis(metric.title, metric.unit, ends=(max(-0.02, min(lows) - 0.07), 1.02))


def _row(findings: Findings, index: int, subject: Subject, defence: str, row: Summary) -> dict[str, Any]:
    used, learnt = utility(row), leak(row)
    assert used is not None  # else it is not shown
    assert learnt is not None
    name = f"{findings.label(subject)}, {defence}"
    return {
        "x": used.mean,
        "y": learnt.mean,
        "dx": used.deviation,
        "dy": learnt.deviation,
        "colour": findings.colour(defence),
        "marker": index,
        "tip": f"{name} against {row.attack} ({row.knowledge}), budget {row.budget}: {_in_words(row)}",
    }


def _in_words(row: Summary) -> str:
    """Both figures with their deviations."""
    parts = []
    for metric, estimate in ((utility_metric(row), utility(row)), (Subject.of(row).metric, leak(row))):
        if metric is not None and estimate is not None:
            spread = deviation(estimate.deviation, metric.unit)
            parts.append(f"{metric.title} {figure(estimate.mean, metric.unit)} {spread}".rstrip())
    return ", ".join(parts)
