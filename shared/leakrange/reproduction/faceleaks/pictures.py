"""The pictures of FACELEAKS: distributions, ROC curves, and AUCs against what an attacker has."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakrange.report.charts.canvas import MUTED, Canvas, Key, Picture, draw, faint, name_axes, series

__all__ = ["against", "distributions", "rocs"]

GRID = np.linspace(0.0, 1.0, 101)
WIDTH, HEIGHT = 380, 280
Curve = tuple[Sequence[float], Sequence[float]]


def distributions(title: str, name: str, members: Sequence[float], others: Sequence[float]) -> Picture:
    """Densities of one class statistic among members and others (Figure 4)."""
    low, high = np.quantile([*members, *others], [0.0, 0.99])
    bins = np.linspace(float(low), float(high), 25).tolist()

    def paint(canvas: Canvas) -> None:
        for place, values in enumerate((members, others)):
            shown = np.clip(values, low, high)
            canvas.axes.hist(shown, bins=bins, density=True, alpha=0.55, color=series(place + 1))
        canvas.axes.set_yticks([])
        name_axes(canvas.axes, name, "density of people")

    keys = (Key("members", colour=1), Key("others", colour=2))
    return Picture(
        title, draw(f"{title}: {name} of members and others", paint, width=WIDTH, height=HEIGHT), keys=keys
    )


def rocs(title: str, attacks: Sequence[tuple[str, Sequence[Curve]]]) -> Picture:
    """Mean ROC curves over seeds, a line an attack (Figures 3, 5 and 6)."""

    def paint(canvas: Canvas) -> None:
        canvas.axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, linestyle=(0, (3, 3)))
        for place, (_, curves) in enumerate(attacks):
            mean = np.mean([np.interp(GRID, fpr, tpr) for fpr, tpr in curves], axis=0)
            canvas.axes.plot([0.0, *GRID], [0.0, *mean], color=series(place))
        canvas.axes.set_xlim(-0.01, 1.01)
        canvas.axes.set_ylim(-0.01, 1.02)
        name_axes(canvas.axes, "false positive rate", "true positive rate")

    keys = tuple(Key(name, colour=place, dash=0) for place, (name, _) in enumerate(attacks))
    said = ", ".join(name for name, _ in attacks)
    return Picture(title, draw(f"{title}: {said}", paint, width=WIDTH, height=HEIGHT), keys=keys)


def against(title: str, what: str, lines: Sequence[tuple[str, Sequence[Sequence[float]]]]) -> Picture:
    """AUC against a number that an attacker has of something, on a logarithmic axis; lines of (number, mean,
    deviation)."""

    def paint(canvas: Canvas) -> None:
        faint(canvas.axes, 0.5)
        numbers = sorted({int(point[0]) for _, points in lines for point in points})
        for place, (_, points) in enumerate(lines):
            x, mean, deviation = (np.array([point[i] for point in points]) for i in range(3))
            canvas.axes.fill_between(
                x, mean - deviation, mean + deviation, color=series(place), alpha=0.18, linewidth=0
            )
            canvas.axes.plot(x, mean, color=series(place), marker="o", markersize=4)
        canvas.axes.set_xscale("log")
        canvas.axes.set_xticks(numbers, [str(number) for number in numbers])
        canvas.axes.minorticks_off()
        name_axes(canvas.axes, what, "AUC")

    keys = tuple(Key(name, colour=place, dash=0) for place, (name, _) in enumerate(lines))
    return Picture(title, draw(f"{title}: AUC against {what}", paint, width=WIDTH, height=HEIGHT), keys=keys)
