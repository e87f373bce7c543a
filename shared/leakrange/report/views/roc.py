"""ROC curves of the strongest attack at the largest budget: one chart per provider, a colour per defence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leakrange.metrics import described
from leakrange.metrics.numbers import score
from leakrange.report.charts.definition import definition_of
from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.scenario.results import Curve, Summary
from leakrange.wire.views import Column, Definition, Table, Term, Value

__all__ = ["DIAGONAL", "GRID", "RATES", "TERMS", "Curves", "curves_of", "mean_curve", "tabled"]

GRID = np.linspace(0.0, 1.0, 101)
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)
RATES = (
    Axis("false positive rate", ends=(-0.01, 1.01), ticks=TICKS),
    Axis("true positive rate", ends=(-0.01, 1.02), ticks=TICKS),
)
DIAGONAL = [{"x": end, "y": end, "line": "guessing", "dash": 4, "tip": "guessing"} for end in (0.0, 1.0)]
TERMS = (
    Term("true positive rate", "share of the positives with a score above the threshold", "share of 1"),
    Term("false positive rate", "share of the negatives with a score above the threshold", "share of 1"),
)
OF = "None: thin lines are single seeds, the thick one is their mean at each false positive rate."

Curves = list[tuple[str, Summary, list[Curve]]]


def mean_curve(curves: list[Curve], grid: NDArray[np.float64] = GRID) -> list[tuple[float, float]]:
    """The mean true positive rate of several curves at each false positive rate, from (0, 0) on."""
    mean = np.mean([np.interp(grid, [0.0, *each.fpr], [0.0, *each.tpr]) for each in curves], axis=0)
    return [(0.0, 0.0), *zip(grid.tolist(), mean.tolist(), strict=True)]


def curves_of(findings: Findings, subject: Subject) -> Curves:
    """For each defence the strongest attack and its curves, one for each seed."""
    cases: Curves = []
    for defence in findings.defences:
        row = findings.best.get((subject, defence))
        curves = [Curve.model_validate(each) for each in findings.views(row, "roc")]
        if row and curves:
            cases.append((defence, row, curves))
    return cases


def tabled(cases: Curves) -> Table:
    """Every point of every curve."""
    rows: list[Sequence[Value]] = [
        [defence, row.attack, row.knowledge, place, x, y]
        for defence, row, curves in cases
        for place, curve in enumerate(curves)
        for x, y in zip(curve.fpr, curve.tpr, strict=True)
    ]
    names = ("defence", "attack", "knowledge", "seed, from 0")
    return Table([*(Column(name) for name in names), *(Column(term.title) for term in TERMS[::-1])], rows)


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    cases = curves_of(findings, subject)
    if not cases:
        return None
    thick, thin = [], []
    for defence, row, curves in cases:
        look = {"line": defence, "colour": findings.colour(defence)}
        tip = f"{defence}: {row.attack} ({row.knowledge}), AUC {score(row.mean('auc'))}"
        thick += [{"x": x, "y": y, "tip": tip, **look} for x, y in mean_curve(curves)]
        for place, curve in enumerate(curves if len(curves) > 1 else []):
            seed_look = {**look, "line": f"{defence}, {place}"}
            thin += [{"x": x, "y": y, **seed_look} for x, y in zip(curve.fpr, curve.tpr, strict=True)]
    keys = [
        Key(f"{defence} {score(row.mean('auc'))}", colour=findings.colour(defence))
        for defence, row, _ in cases
    ]
    title = findings.label(subject)
    attacks = ", ".join(dict.fromkeys(f"{row.attack} ({row.knowledge})" for _, row, _ in cases))
    budgets = ", ".join(str(budget) for budget in sorted({row.budget for _, row, _ in cases}))
    defined = definition_of(findings, [row for _, row, _ in cases], [described("auc")], OF)
    return picture(
        title,
        f"ROC curves of {title} on {subject.data}; AUC by defence: {', '.join(key.text for key in keys)}.",
        [
            lines(DIAGONAL, *RATES, width=1.2, muted=True),
            lines(thin, *RATES, width=0.8, faint=True),
            lines(thick, *RATES),
        ],
        size=(300, 270),
        note=f"{attacks}; budget {budgets}. AUC by defence:",
        keys=keys,
        table=tabled(cases),
        definition=Definition((*TERMS, *defined.terms), defined.counted, OF),
    )


views.register("roc")(
    View(
        "ROC curves",
        "The strongest attack on each provider and defence at the largest budget. Thick: mean over seeds; "
        "thin: single seeds; dashed: guessing. Of more than two classes it is the mean of their curves, each "
        "class against the rest, as the AUC is.",
        _draw,
    )
)
