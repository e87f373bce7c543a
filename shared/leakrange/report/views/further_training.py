"""Further training: the movement of audited models' outputs, round by round of further training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from leakrange.metrics.numbers import count, score
from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture, rules
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.wire.views import Column, Definition, Table, Term, Value

__all__ = ["similarities"]

NAME = "further-training"
MARKED = 6
"""The most rounds that are marked on the axis."""


def similarities(title: str, audited: Mapping[str, Sequence[Mapping[str, Any]]], note: str = "") -> Picture:
    """Cosine similarity 1 − 2v of models after each round, 1 before the first (VICIOUS, Figure 6): for each
    name a line of the mean over such views of its seeds. The dashed line is the threshold."""
    thick: list[dict[str, Any]] = []
    thin: list[dict[str, Any]] = []
    keys, texts = [], []
    data: list[list[Value]] = []
    for place, (name, seeds) in enumerate(audited.items()):
        each = [[1.0, *(1.0 - 2.0 * v for v in seed["rounds"])] for seed in seeds]
        data += [[name, n, x, y] for n, line in enumerate(each) for x, y in enumerate(line)]
        mean = np.mean([line[: min(map(len, each))] for line in each], axis=0).tolist()
        text = f"{name}: {score(mean[-1])}"
        look = {"colour": place + 1, "dash": place, "tip": f"{text} after the last round"}
        thick += [{"x": x, "y": y, "line": name, **look} for x, y in enumerate(mean)]
        for number, line in enumerate(each if len(each) > 1 else []):
            seed_look = {"colour": place + 1, "line": f"{name}, {number}"}
            thin += [{"x": x, "y": y, **seed_look} for x, y in enumerate(line)]
        keys.append(Key(text, colour=place + 1, dash=place))
        texts.append(text)
    limits = sorted({1.0 - 2.0 * seed["threshold"] for seeds in audited.values() for seed in seeds})
    values = [row["y"] for row in (*thick, *thin)]
    lowest, last = min(*values, *limits), max(row["x"] for row in (*thick, *thin))
    step = -(-last // MARKED)
    x = Axis("round", "count", ends=(0, last), ticks=range(0, last + 1, step))
    y = Axis("cosine similarity", ends=(lowest - 0.05 * (1.0 - lowest), 1.0))
    return picture(
        title,
        f"Cosine similarity of outputs before and after further training, {title}; after the last round "
        f"{', '.join(texts)}.",
        [
            rules([{"y": limit} for limit in limits], None, y, guide=True),
            lines(thin, x, y, width=0.8, faint=True),
            lines(thick, x, y),
        ],
        size=(380, 280),
        note=note or count(max(map(len, audited.values())), "seed"),
        keys=keys,
        table=Table([Column(each) for each in ("model", "seed, from 0", "round", "cosine similarity")], data),
        definition=Definition(
            (Term("cosine similarity", "1 − 2v, v the audit’s score of a round (VICIOUS, Figure 6)"),),
            count(max(map(len, audited.values())), "seed"),
            "None: thin lines are single seeds, the thick one is their mean.",
        ),
    )


def _draw(findings: Findings, subject: Subject) -> Picture | None:
    """All audited models on the subject's data, drawn at the first of them."""
    audited: dict[Subject, list[dict[str, Any]]] = {}
    for other in findings.of_data(subject.data):
        row = findings.open(other)
        rounds = [t.views[NAME] for t in findings.trials(row) if NAME in t.views] if row else []
        if rounds:
            audited[other] = rounds
    if subject != next(iter(audited), None):
        return None
    return similarities(subject.data, {findings.label(other): rounds for other, rounds in audited.items()})


views.register(NAME)(
    View(
        "Further training",
        "An auditor trained the models further for the task alone: the cosine similarity of their outputs "
        "before and after, round by round. Thick: mean over seeds; thin: single seeds; dashed: below it a "
        "model is suspicious. A model that has not converged for its task moves too, whatever the reason.",
        _draw,
    )
)
