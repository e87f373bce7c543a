"""The plane of utility and leakage: a provider's use for its users, and what it learns (HBC, Section 3)."""

from __future__ import annotations

from typing import Any

from leakrange.metrics.numbers import deviation, titled
from leakrange.report.charts.definition import definition_of, figures
from leakrange.report.charts.drawing import Picture, labels, lines, picture, points, rules
from leakrange.report.charts.frontier import frontier
from leakrange.report.charts.leakage import chance_line, chance_note, leakage_axis, utility_axis
from leakrange.report.findings import Findings, Subject, leak, level, measures, utility, utility_metric
from leakrange.scenario.results import Summary

__all__ = ["planes"]

SIZE = (380, 320)
TOP, RIGHT, BOTTOM, LEFT = 32, 28, 46, 54
"""Pixels outside the axes."""
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
    marks = [_mark(findings, *point) for point in cases]
    rows, metric = [row for *_, row in cases], cases[0][1].metric
    x, y, chance = utility_axis(rows), leakage_axis(metric, rows, 0.07), level(rows)
    spread = [mark for mark in marks if mark["dx"] is not None and mark["dy"] is not None]
    across = [{**mark, "x": mark["x"] - mark["dx"], "x2": mark["x"] + mark["dx"]} for mark in spread]
    upright = [{**mark, "y": mark["y"] - mark["dy"], "y2": mark["y"] + mark["dy"]} for mark in spread]
    served = dict.fromkeys(used for row in rows if (used := utility_metric(row)) is not None)
    table_metrics = [*served, *measures(metric)]
    named = _named(cases, marks, findings.undefended)
    text = "; ".join(f"{findings.label(s)} under {defence}: {_in_words(row)}" for _, s, defence, row in cases)
    return picture(
        f"{data}: {sensitive} hidden behind {target}",
        f"Plane of {x.title} and {y.title} on {data}. {text}.",
        [
            chance_line(chance, y),
            lines(_frontiers(cases, marks), x, y, width=1.4, muted=True),
            rules(across, x, y),
            rules(upright, x, y),
            points(marks, x, y),
            labels(named, marks, x, y, (SIZE[0] - LEFT - RIGHT, SIZE[1] - TOP - BOTTOM)),
        ],
        size=SIZE,
        margins=(TOP, RIGHT, BOTTOM, LEFT),
        note=chance_note(chance, metric),
        table=figures(rows, table_metrics),
        definition=definition_of(findings, rows, table_metrics),
    )


def _named(cases: list[Point], placed: list[dict[str, Any]], undefended: str | None) -> list[dict[str, Any]]:
    """The name of each provider at its undefended point, or at its first."""
    named = {}
    for (index, subject, defence, _), mark in zip(cases, placed, strict=True):
        if index not in named or defence == undefended:
            twins = {other.release for _, other, *_ in cases if other.provider == subject.provider}
            release = f" ({subject.release})" if len(twins) > 1 else ""
            named[index] = {"x": mark["x"], "y": mark["y"], "text": f"{subject.provider}{release}"}
    return list(named.values())


def _frontiers(cases: list[Point], placed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each provider the line through the defences that no other defence beats in both utility and
    leakage."""
    line: list[dict[str, Any]] = []
    for index in dict.fromkeys(index for index, *_ in cases):
        marks = {
            defence: mark for (at, _, defence, _), mark in zip(cases, placed, strict=True) if at == index
        }
        sign = next(1.0 if subject.metric.higher else -1.0 for at, subject, *_ in cases if at == index)
        best = frontier({name: (mark["x"], sign * mark["y"]) for name, mark in marks.items()})
        look = {"line": str(index), "dash": index, "colour": 0}
        line += [
            {"x": marks[name]["x"], "y": marks[name]["y"], "tip": f"frontier: {name}", **look}
            for name in best
        ]
    return line


def _mark(findings: Findings, index: int, subject: Subject, defence: str, row: Summary) -> dict[str, Any]:
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
            parts.append(f"{titled(metric, estimate.mean)} {spread}".rstrip())
    return ", ".join(parts)
