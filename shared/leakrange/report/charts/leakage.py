"""What charts of leakage share: the axes of utility and leakage, and the line of chance."""

from __future__ import annotations

from collections.abc import Sequence

from leakrange.metrics import Metric
from leakrange.metrics.numbers import figure
from leakrange.report.charts.drawing import Axis, Layer, rules
from leakrange.report.findings import leaked, level, utility, utility_metric
from leakrange.scenario.results import Summary

__all__ = ["chance_line", "chance_note", "leakage_axis", "utility_axis"]


def leakage_axis(metric: Metric, rows: Sequence[Summary], room: float) -> Axis:
    """The axis of leakage, from ``room`` below the lowest figure or chance level to the best value; Vega
    chooses the ends of a metric that has no best value."""
    if metric.best is None:
        return Axis(metric.title, metric.unit)
    lowest = min([leaked(row) for row in rows] + [each for each in [level(rows)] if each is not None])
    return Axis(metric.title, metric.unit, ends=(max(-0.02, lowest - room), 1.02))


def utility_axis(rows: Sequence[Summary], about: int = 5) -> Axis:
    """The axis of utility, for rows that have such a figure; with ``about`` so many ticks."""
    served = utility_metric(rows[0])
    assert served is not None  # else it is not shown
    used = [estimate.mean for row in rows if (estimate := utility(row))]
    pad = max(0.012, 0.12 * (max(used) - min(used)))
    highest = max(used) + pad
    right = highest if served.best is None else min(1.005, highest)
    return Axis(served.title, served.unit, ends=(min(used) - pad, right), about=about)


def chance_line(chance: float | None, y: Axis) -> Layer:
    """A dashed line at the chance level; without marks where none is known."""
    return rules([] if chance is None else [{"y": chance}], None, y, guide=True)


def chance_note(chance: float | None, metric: Metric) -> str:
    """The meaning of that line; "" where there is none."""
    return "" if chance is None else f"dashed: chance, {figure(chance, metric.unit)}"
