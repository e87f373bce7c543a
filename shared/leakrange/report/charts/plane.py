"""The plane of utility and leakage: what a provider does for users and what it learns (HBC, Section 3)."""

from __future__ import annotations

from typing import Any

from leakrange.metrics.numbers import deviation, figure
from leakrange.report.charts.definition import Definition, figures
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

    Of metrics without a best value there is none: see `leakrange.report.charts.frontier`.
    """
    bounded = [subject for subject in findings.subjects if subject.metric.best is not None]
    tasks = dict.fromkeys((s.data, s.target, s.sensitive, s.leakage) for s in bounded)
    return [drawn for task in tasks if (drawn := _plane(findings, task)) is not None]


def _plane(findings: Findings, task: tuple[str, str, str, str]) -> Picture | None:
    subjects = [s for s in findings.subjects if (s.data, s.target, s.sensitive, s.leakage) == task]
    shown: list[Point] = [
        (index, subject, defence, row)
        for index, subject in enumerate(subjects)
        for defence in findings.defences
        if (row := findings.best.get((subject, defence))) is not None and utility(row) is not None
    ]
    if not shown:
        return None
    data, target, sensitive, _ = task
    rows = [_row(findings, *point) for point in shown]
    x, y = _axes(shown)
    guide = [] if (chance := level([row for *_, row in shown])) is None else [{"y": chance}]
    spread = [row for row in rows if row["dx"] is not None and row["dy"] is not None]
    across = [{**row, "x": row["x"] - row["dx"], "x2": row["x"] + row["dx"]} for row in spread]
    upright = [{**row, "y": row["y"] - row["dy"], "y2": row["y"] + row["dy"]} for row in spread]
    served = dict.fromkeys(found for *_, row in shown if (found := utility_metric(row)) is not None)
    told = [*served, *measures(shown[0][1].metric)]
    names = {index: findings.label(subject) for index, subject, *_ in shown}
    said = "; ".join(f"{findings.label(s)} under {defence}: {_said(row)}" for _, s, defence, row in shown)
    return picture(
        f"{data}: {sensitive} hidden behind {target}",
        f"Plane of {x.title} and {y.title} on {data}. {said}.",
        [
            rules(guide, None, y, guide=True),
            lines(_frontiers(shown, rows), x, y, width=1.4, muted=True),
            rules(across, x, y),
            rules(upright, x, y),
            points(rows, x, y),
        ],
        size=(350, 310),
        margins=(32, 28, 46, 54),
        note="" if chance is None else f"dashed: chance, {figure(chance, shown[0][1].metric.unit)}",
        keys=[Key(name, marker=index, dash=index) for index, name in names.items()],
        table=figures([row for *_, row in shown], told),
        definition=Definition.of(findings, [row for *_, row in shown], told),
    )


def _frontiers(shown: list[Point], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each provider the line through the defences than which no other serves users better and leaks
    less."""
    line: list[dict[str, Any]] = []
    for index in dict.fromkeys(index for index, *_ in shown):
        own = {defence: mark for (at, _, defence, _), mark in zip(shown, rows, strict=True) if at == index}
        sign = next(1.0 if subject.metric.higher else -1.0 for at, subject, *_ in shown if at == index)
        held = frontier({name: (mark["x"], sign * mark["y"]) for name, mark in own.items()})
        look = {"line": str(index), "dash": index, "colour": 0}
        line += [
            {"x": own[name]["x"], "y": own[name]["y"], "tip": f"frontier: {name}", **look} for name in held
        ]
    return line


def utility_axis(rows: list[Summary], about: int = 5) -> Axis:
    """What users get, of rows that have such a figure; ``about`` so many ticks."""
    served = utility_metric(rows[0])
    assert served is not None  # else it is not shown
    used = [found.mean for row in rows if (found := utility(row))]
    pad = max(0.012, 0.12 * (max(used) - min(used)))
    highest = max(used) + pad
    right = highest if served.best is None else min(1.005, highest)
    return Axis(served.title, served.unit, ends=(min(used) - pad, right), about=about)


def _axes(shown: list[Point]) -> tuple[Axis, Axis]:
    metric, rows = shown[0][1].metric, [row for *_, row in shown]
    chance = level(rows)
    lows = [leaked(row) for row in rows] + ([] if chance is None else [chance])
    return utility_axis(rows), Axis(metric.title, metric.unit, ends=(max(-0.02, min(lows) - 0.07), 1.02))


def _row(findings: Findings, index: int, subject: Subject, defence: str, row: Summary) -> dict[str, Any]:
    used, found = utility(row), leak(row)
    assert used is not None  # else it is not shown
    assert found is not None
    name = f"{findings.label(subject)}, {defence}"
    return {
        "x": used.mean,
        "y": found.mean,
        "dx": used.deviation,
        "dy": found.deviation,
        "colour": findings.colour(defence),
        "marker": index,
        "tip": f"{name} against {row.attack} ({row.knowledge}), budget {row.budget}: {_said(row)}",
    }


def _said(row: Summary) -> str:
    """Both figures with their deviations."""
    said = []
    for metric, found in ((utility_metric(row), utility(row)), (Subject.of(row).metric, leak(row))):
        if metric is not None and found is not None:
            spread = deviation(found.deviation, metric.unit)
            said.append(f"{metric.title} {figure(found.mean, metric.unit)} {spread}".rstrip())
    return ", ".join(said)
