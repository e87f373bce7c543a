"""Probed attributes: the part of each that a defence keeps, private and useful ones in one picture."""

from __future__ import annotations

import numpy as np

from leakrange.metrics import described
from leakrange.metrics.numbers import score
from leakrange.report.charts.definition import definition_of
from leakrange.report.charts.drawing import Axis, Picture, cells, picture
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.wire.views import Column, Table, Value

COLUMNS = [
    *(Column(name) for name in ("defence", "attribute", "role", "seeds")),
    Column.of("NAG", "score"),
]


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    rows, names, attacks, judged = [], [], [], []
    data: list[list[Value]] = []
    for defence in findings.defences:
        best = findings.best.get((subject, defence))
        trials = findings.views(best, "attributes")
        if best is None or not trials:
            continue
        judged.append(best)
        attacks.append(f"{best.attack} ({best.knowledge})")
        for place, attribute in enumerate(trials[0]):
            gains = [each[place]["nag"] for each in trials if "nag" in each[place]]
            if not gains:
                continue
            name, gained = f"{attribute['attribute']}, {attribute['role']}", float(np.mean(gains))
            names.append(name)
            data.append([defence, attribute["attribute"], attribute["role"], len(gains), gained])
            text = score(gained)
            tip = f"{defence}, {name}: NAG {text}"
            rows.append({"x": defence, "y": name, "share": min(1.0, gained), "tip": tip, "text": text})
    if not rows:
        return None
    shown_names, defences = list(dict.fromkeys(names)), list(dict.fromkeys(str(row["x"]) for row in rows))
    title = findings.label(subject)
    return picture(
        title,
        f"NAG of each attribute under each defence, {title} on {subject.data}: "
        + "; ".join(str(row["tip"]) for row in rows),
        cells(rows, Axis("defence", names=defences, room=84), Axis("attribute", names=shown_names, room=180)),
        size=(220 + 90 * len(defences), 100 + 34 * len(shown_names)),
        margins=(30, 12, 60, 190),
        note=", ".join(dict.fromkeys(attacks)),
        table=Table(COLUMNS, data),
        definition=definition_of(findings, judged, [described("nag")], "None: a cell is a mean over seeds."),
    )


views.register("attributes")(
    View(
        "Attributes, hidden and kept",
        "The normalised gain of a classifier of each attribute, by the strongest attack at the largest "
        "budget, a mean over seeds: 0 is the commonest class, 1 what samples tell that nobody obfuscated. "
        "Private attributes should be empty, useful ones full.",
        _draw,
        wide=True,
    )
)
