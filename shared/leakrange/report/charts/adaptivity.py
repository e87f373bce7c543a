"""The adaptivity gap: the gain of an attacker who knows the defence or asks again."""

from __future__ import annotations

from leakrange.metrics.numbers import figure
from leakrange.metrics.verdict import LITTLE
from leakrange.report.charts.definition import OVER_SEEDS, definition_of, figures
from leakrange.report.charts.drawing import Axis, Picture, picture, points, rules
from leakrange.report.findings import Findings, Subject, leak, leaked, level, measures
from leakrange.scenario.results import Summary

__all__ = ["adaptivity", "place_of"]

NARROWEST = 2.0
"""The axis spans at least so many times a leak that counts as little, so that mere noise does not look like a
gap."""

KNOWLEDGES = ("unaware", "aware", "averaging")


def place_of(knowledge: str) -> int:
    """The number of a knowledge's marker; the number of its colour is one higher."""
    return KNOWLEDGES.index(knowledge) if knowledge in KNOWLEDGES else len(KNOWLEDGES)


def adaptivity(findings: Findings, data: str) -> list[Picture]:
    """One chart per provider and attack on ``data`` with several knowledges, at its largest budget."""
    pictures = []
    for subject in findings.of_data(data):
        rows = [row for row in findings.summaries if Subject.of(row) == subject and leak(row) is not None]
        for attack in dict.fromkeys(row.attack for row in rows):
            chosen = [row for row in rows if row.attack == attack]
            top = max(row.budget for row in chosen)
            chosen = [row for row in chosen if row.budget == top]
            if len({row.knowledge for row in chosen}) > 1:
                pictures.append(_draw(findings, subject, attack, chosen))
    return pictures


def _draw(findings: Findings, subject: Subject, attack: str, rows: list[Summary]) -> Picture:
    metric, chance = subject.metric, level(rows)
    defences = [defence for defence in findings.defences if any(row.defence == defence for row in rows)]
    guide = [] if chance is None else [{"x": chance}]
    values = [leaked(row) for row in rows] + ([] if chance is None else [chance])
    middle, reach = (
        (min(values) + max(values)) / 2,
        max(NARROWEST * LITTLE * metric.scale, max(values) - min(values)) / 2,
    )
    ends = (middle - 1.15 * reach, middle + 1.15 * reach)
    x = Axis(f"{metric.title} (dashed: chance)", metric.unit, ends=ends, about=3)
    y = Axis("", names=defences)
    marks, spans, texts = [], [], []
    for defence in defences:
        leaks = {row.knowledge: leaked(row) for row in rows if row.defence == defence}
        spans.append({"x": min(leaks.values()), "x2": max(leaks.values()), "y": defence, "colour": 6})
        entries = []
        for knowledge, value in leaks.items():
            place, entry = place_of(knowledge), f"{knowledge} {figure(value, metric.unit)}"
            tip = f"{defence}, {entry}"
            marks.append({"x": value, "y": defence, "colour": place + 1, "marker": place, "tip": tip})
            entries.append(entry)
        texts.append(f"{defence}: {', '.join(entries)}")
    name = findings.label(subject)
    return picture(
        f"{name}: {attack}",
        f"Adaptivity gap of {name} on {subject.data}, attack {attack}. {'; '.join(texts)}.",
        [rules(guide, x, None, guide=True), rules(spans, x, y), points(marks, x, y, size=72)],
        size=(300, 60 + 30 * len(defences)),
        margins=(6, 14, 44, 98),
        note=f"budget {rows[0].budget}",
        table=figures(rows, measures(metric)),
        definition=definition_of(findings, rows, measures(metric), f"In the table: {OVER_SEEDS}"),
    )
