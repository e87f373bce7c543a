"""ROC curves of the strongest attack at the largest budget: one chart per provider, a colour per defence."""

from __future__ import annotations

import numpy as np

from leakrange.metrics.numbers import score
from leakrange.report.charts.canvas import MUTED, Canvas, Key, Picture, draw, name_axes, series
from leakrange.report.findings import Findings, Subject
from leakrange.scenario.results import Curve, Summary

__all__ = ["rocs"]

GRID = np.linspace(0.0, 1.0, 101)


def rocs(findings: Findings, data: str) -> list[Picture]:
    """Charts of the providers on ``data``; a thin line is a seed, a thick one the mean over seeds."""
    return [picture for subject in findings.of_data(data) if (picture := _roc(findings, subject)) is not None]


def _roc(findings: Findings, subject: Subject) -> Picture | None:
    shown: list[tuple[str, Summary, list[Curve]]] = []
    for defence in findings.defences:
        row = findings.best.get((subject, defence))
        curves = (
            [Curve.model_validate(t.views["roc"]) for t in findings.trials(row) if "roc" in t.views]
            if row
            else []
        )
        if row and curves:
            shown.append((defence, row, curves))
    if not shown:
        return None

    def paint(canvas: Canvas) -> None:
        axes = canvas.axes
        axes.plot([0, 1], [0, 1], color=MUTED, linewidth=1.2, linestyle=(0, (3, 3)))
        for defence, row, curves in shown:
            hue = series(findings.colour(defence))
            if len(curves) > 1:
                for curve in curves:
                    axes.plot(curve.fpr, curve.tpr, color=hue, linewidth=0.8, alpha=0.45)
            mean = np.mean([np.interp(GRID, [0.0, *c.fpr], [0.0, *c.tpr]) for c in curves], axis=0)
            [line] = axes.plot([0.0, *GRID], [0.0, *mean], color=hue, linewidth=2)
            canvas.tip(
                line,
                f"{defence}: {row.attack} ({row.knowledge}), AUC {score(row.mean('auc'))}",
            )
        axes.set_xlim(-0.01, 1.01)
        axes.set_ylim(-0.01, 1.02)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        name_axes(axes, "false positive rate", "true positive rate")

    keys = tuple(
        Key(f"{defence} {score(row.mean('auc'))}", colour=findings.colour(defence))
        for defence, row, _ in shown
    )
    title = findings.label(subject)
    said = ", ".join(f"{key.text}" for key in keys)
    attacks = ", ".join(dict.fromkeys(f"{row.attack} ({row.knowledge})" for _, row, _ in shown))
    budgets = ", ".join(str(budget) for budget in sorted({row.budget for _, row, _ in shown}))
    return Picture(
        title=title,
        svg=draw(f"ROC curves of {title} on {subject.data}; AUC by defence: {said}.", paint, height=270),
        note=f"{attacks}; budget {budgets}. AUC by defence:",
        keys=keys,
    )
