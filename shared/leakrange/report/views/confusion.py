"""Confusion matrices: which class the strongest attack took for which."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakrange.metrics.numbers import percent
from leakrange.report.charts.definition import Definition
from leakrange.report.charts.drawing import Axis, Picture, cells, picture
from leakrange.report.charts.table import Column, Table
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views

LEGIBLE = 12
"""Up to so many classes are written with their names, and every cell with its count."""


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    row = findings.open(subject)
    matrices = (
        [np.asarray(t.views["confusion"]) for t in findings.trials(row) if "confusion" in t.views]
        if row
        else []
    )
    if row is None or not matrices or len({each.shape for each in matrices}) > 1:
        return None
    counts = sum(matrices[1:], start=matrices[0])
    known = findings.results.classes.get(subject.data, {}).get(subject.sensitive, [])
    named = len(known) == len(counts) <= LEGIBLE
    names = known if named else [str(place) for place in range(len(counts))]
    rows: list[dict[str, Any]] = []
    for true, line in enumerate(counts.tolist()):
        for guessed, number in enumerate(line):
            share = number / max(1, sum(line))
            tip = f"{names[true]} taken for {names[guessed]}: {number:,}, {percent(share)} of its samples"
            own = {"x": names[guessed], "y": names[true], "share": share, "tip": tip}
            rows.append({**own, "text": f"{number:,}" if len(names) <= LEGIBLE else ""})
    title = findings.label(subject)
    told = float(np.trace(counts)) / max(1, int(counts.sum()))
    return picture(
        title,
        f"Confusion matrix of {title} on {subject.data}: {percent(told)} of {counts.sum():,} are right.",
        cells(rows, Axis("guessed class", names=names), Axis("true class", names=names)),
        size=(300, 270),
        margins=(30, 12, 44, 98 if named else 46),
        note=f"{row.attack} ({row.knowledge}); budget {row.budget}",
        table=Table(
            [Column("true class"), Column("guessed class"), Column("samples")],
            [
                [names[true], names[guessed], number]
                for true, line in enumerate(counts.tolist())
                for guessed, number in enumerate(line)
            ],
        ),
        definition=Definition.of(findings, [row], [subject.metric], "None: counts of all seeds together."),
    )


views.register("confusion")(
    View(
        "Confusion",
        "Which class the strongest attack on undefended outputs took for which, at the largest budget, all "
        "seeds together. A row is a true class; the fuller a cell, the greater its share of the row.",
        _draw,
    )
)
