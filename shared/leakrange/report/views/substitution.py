"""Substitution by classes: the class of a sample's substitute, by the class of the sample (PASS, Fig. 5)."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakrange.metrics.numbers import percent
from leakrange.report.charts.definition import counted
from leakrange.report.charts.drawing import Axis, Picture, cells, picture
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.wire.views import Column, Definition, Table, Term

__all__ = ["class_map"]

LEGIBLE = 14


def class_map(title: str, joint: Any, names: list[str], note: str = "", n: str = "") -> Picture:
    """A map of P(class of the substitute | class of the sample), from their joint distribution (C, C)."""
    matrix = np.asarray(joint, dtype=np.float64)
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1e-12)
    rows = [
        {
            "x": names[new],
            "y": names[true],
            "share": float(shares[true, new]),
            "tip": f"{names[true]} becomes {names[new]}: {percent(float(shares[true, new]))}",
            "text": percent(float(shares[true, new])) if len(names) <= 6 else "",
        }
        for true in range(len(names))
        for new in range(len(names))
    ]
    same = float(np.trace(matrix))
    return picture(
        title,
        f"Classes of samples and of their substitutes: {title}. {percent(same)} keep theirs.",
        cells(rows, Axis("class of the substitute", names=names), Axis("class of the sample", names=names)),
        size=(300, 270),
        margins=(30, 12, 44, 98 if len(names) <= LEGIBLE else 46),
        note=note,
        table=Table(
            [
                Column("class of the sample"),
                Column("class of the substitute"),
                Column.of("share of the class’s samples", "share"),
                Column.of("share of all samples", "share"),
            ],
            [
                [names[true], names[new], float(shares[true, new]), float(matrix[true, new])]
                for true in range(len(names))
                for new in range(len(names))
            ],
        ),
        definition=Definition(
            (Term("share", "P(class of the substitute | class of the sample) (PASS, Fig. 5)", "share of 1"),),
            n,
            "None: a mean over seeds.",
        ),
    )


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    for row in findings.summaries:
        if Subject.of(row) != subject:
            continue
        by_trial = findings.views(row, "substitution")
        if by_trial and subject.sensitive in by_trial[0]:
            joint = np.mean([np.asarray(each[subject.sensitive]) for each in by_trial], axis=0)
            classes = findings.results.classes.get(subject.data, {}).get(subject.sensitive, [])
            names = classes if len(classes) == len(joint) else [str(place) for place in range(len(joint))]
            note = f"defence: {row.defence}"
            return class_map(findings.label(subject), joint, names, note, counted(findings, [row]))
    return None


views.register("substitution")(
    View(
        "Substitution",
        "Of which class the substitutes of each class's samples are. Where all rows are equal, a substitute "
        "tells nothing of the class; where the diagonal is full, it tells all.",
        _draw,
    )
)
