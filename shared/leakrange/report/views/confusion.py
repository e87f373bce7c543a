"""Confusion matrices: the strongest attack's guesses by true class."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakrange.metrics.numbers import percent
from leakrange.report.charts.definition import definition_of
from leakrange.report.charts.drawing import Axis, Picture, cells, picture
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.wire.views import Column, Table

LEGIBLE = 12
"""The most classes that are written with their names, and the count in every cell."""


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    row = findings.open(subject)
    matrices = [np.asarray(each) for each in findings.views(row, "confusion")]
    if row is None or not matrices or len({each.shape for each in matrices}) > 1:
        return None
    counts = sum(matrices[1:], start=matrices[0])
    classes = findings.results.classes.get(subject.data, {}).get(subject.sensitive, [])
    named = len(classes) == len(counts) <= LEGIBLE
    names = classes if named else [str(place) for place in range(len(counts))]
    rows: list[dict[str, Any]] = []
    for true, line in enumerate(counts.tolist()):
        for guessed, number in enumerate(line):
            share = number / max(1, sum(line))
            tip = f"{names[true]} taken for {names[guessed]}: {number:,}, {percent(share)} of its samples"
            cell = {"x": names[guessed], "y": names[true], "share": share, "tip": tip}
            rows.append({**cell, "text": f"{number:,}" if len(names) <= LEGIBLE else ""})
    title = findings.label(subject)
    right = float(np.trace(counts)) / max(1, int(counts.sum()))
    return picture(
        title,
        f"Confusion matrix of {title} on {subject.data}: {percent(right)} of {counts.sum():,} are right.",
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
        definition=definition_of(findings, [row], [subject.metric], "None: counts of all seeds together."),
    )


views.register("confusion")(
    View(
        "Confusion",
        "Which class the strongest attack on undefended outputs took for which, at the largest budget, all "
        "seeds together. A row is a true class; the fuller a cell, the greater its share of the row.",
        _draw,
    )
)
