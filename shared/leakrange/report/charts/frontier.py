"""The frontier of utility and privacy: the defences that no other defence beats in both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakrange.metrics import Metric, described, in_order
from leakrange.metrics.numbers import deviation, titled
from leakrange.report.attackers import Adapted, attackers
from leakrange.report.charts.definition import OVER_SEEDS, definition_of, figures
from leakrange.report.charts.drawing import Axis, Key, Picture, labels, lines, picture, points, rules
from leakrange.report.charts.leakage import chance_line, chance_note, utility_axis
from leakrange.report.findings import Findings, Subject, chance, measures, utility, utility_metric
from leakrange.scenario.results import Summary

__all__ = ["frontier", "frontiers"]

MEASURES = 3
"""The most metrics of leakage with a picture: the main one, and the next in the order of reports."""
MARKERS: dict[Adapted, int] = {"plain": 0, "adaptive": 3}

WIDTH, HEIGHT = 330, 290
TOP, RIGHT, BOTTOM, LEFT = 32, 24, 46, 50
"""Pixels outside the axes."""

Met = list[tuple[str, Adapted, Summary]]


def frontier(reached: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names whose (utility, leakage) no other has beaten in one and reached in the other, in the order of
    rising utility."""
    best = [
        name
        for name, (used, leaked) in reached.items()
        if not any(
            u >= used and leak <= leaked and (u, leak) != (used, leaked) for u, leak in reached.values()
        )
    ]
    return sorted(best, key=lambda name: reached[name])


def frontiers(findings: Findings, subject: Subject) -> list[Picture]:
    """One picture for each measure of leakage at that provider; a point is a defence against the strongest
    plain or the strongest adaptive attacker."""
    names = in_order(
        name
        for row in findings.summaries
        if Subject.of(row) == subject
        for name in row.metrics
        if described(name).role == "leakage"
    )
    ordered = sorted((described(name) for name in names), key=lambda metric: metric != subject.metric)
    leakages = ordered[:MEASURES]
    return [chart for metric in leakages if (chart := _draw(findings, subject, metric, leakages)) is not None]


def _draw(findings: Findings, subject: Subject, metric: Metric, leakages: list[Metric]) -> Picture | None:
    met: Met = [
        (defence, adapted, row)
        for defence in findings.defences
        for adapted, row in attackers(findings, subject, defence, metric).items()
        if utility(row) is not None
    ]
    if not met:
        return None
    rows = [row for *_, row in met]
    served = dict.fromkeys(used for row in rows if (used := utility_metric(row)) is not None)
    table_metrics = [*served, *measures(metric)]
    marks = [_mark(findings, *each, metric, leakages) for each in met]
    level = next((chance_level for *_, row in met if (chance_level := chance(row, metric)) is not None), None)
    heights = [mark["y"] for mark in marks] + ([] if level is None else [level])
    pad = 0.08 * (max(heights) - min(heights)) or 1.0
    y = Axis(metric.title, metric.unit, ends=(min(heights) - pad, max(heights) + pad))
    x = utility_axis([row for *_, row in met], about=3)
    best = _strongest(met, marks, metric)
    sign = 1.0 if metric.higher else -1.0
    best_names = frontier({name: (mark["x"], sign * mark["y"]) for name, mark in best.items()})
    line = [
        {"x": best[name]["x"], "y": best[name]["y"], "line": "", "colour": 0, "tip": f"frontier: {name}"}
        for name in best_names
    ]
    joints = [
        {"x": first["x"], "y": first["y"], "y2": second["y"], "colour": first["colour"]}
        for name in best
        if len(pair := [mark for (defence, *_), mark in zip(met, marks, strict=True) if defence == name]) == 2
        for first, second in [pair]
    ]
    named = [{"x": best[name]["x"], "y": best[name]["y"], "text": name} for name in best]
    adaptations = list(dict.fromkeys(adapted for _, adapted, _ in met))
    legend = "" if level is None else f"{chance_note(level, metric)}; "
    return picture(
        metric.title,
        f"{metric.title} against utility for {findings.label(subject)} on {subject.data}. "
        f"{'; '.join(mark['tip'] for mark in marks)}. On the frontier: {', '.join(best_names)}.",
        [
            chance_line(level, y),
            lines(line, x, y, width=1.6, muted=True),
            rules(joints, x, y),
            points(marks, x, y, size=80),
            labels(named, marks, x, y, (WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM)),
        ],
        size=(WIDTH, HEIGHT),
        margins=(TOP, RIGHT, BOTTOM, LEFT),
        note=f"{legend}on the frontier: {', '.join(best_names)}",
        keys=[Key(adapted, marker=MARKERS[adapted]) for adapted in adaptations if len(adaptations) > 1],
        table=figures(rows, table_metrics),
        definition=definition_of(findings, rows, table_metrics, f"In the table: {OVER_SEEDS}"),
    )


def _strongest(met: Met, marks: list[dict[str, Any]], metric: Metric) -> dict[str, dict[str, Any]]:
    """For each defence the mark of the attacker who learned most."""
    sign, strongest = (1.0 if metric.higher else -1.0), dict[str, dict[str, Any]]()
    for (defence, *_), mark in zip(met, marks, strict=True):
        if defence not in strongest or sign * mark["y"] > sign * strongest[defence]["y"]:
            strongest[defence] = mark
    return strongest


def _mark(
    findings: Findings, defence: str, adapted: Adapted, row: Summary, metric: Metric, leakages: list[Metric]
) -> dict[str, Any]:
    used = utility(row)
    assert used is not None  # else it is not shown
    utilities = [described(name) for name in row.metrics if described(name).role == "utility"]
    figures = [
        f"{titled(each, value.mean)} {deviation(value.deviation, each.unit)}".rstrip()
        for each in [*utilities, *leakages]
        if (value := row.metrics.get(each.name)) is not None
    ]
    return {
        "x": used.mean,
        "y": row.metrics[metric.name].mean,
        "colour": findings.colour(defence),
        "marker": MARKERS[adapted],
        "tip": f"{defence} against {row.attack} ({row.knowledge}, {adapted}): {', '.join(figures)}",
    }
