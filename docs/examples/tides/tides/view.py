"""A view of restored samples: one user's waves, as they were and as the attacker restored them."""

from __future__ import annotations

from leakrange.report.charts.drawing import Axis, Key, Picture, lines, picture
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.wire.views import Column, Definition, Table, Term

TRUTH = "as it was"


def draw(findings: Findings, subject: Subject) -> Picture | None:
    """One line for the truth, and one for what was restored under each defence."""
    series: dict[str, list[float]] = {}
    for defence in findings.defences:
        row = findings.best.get((subject, defence))
        found = (
            [trial.views["waves"] for trial in findings.trials(row) if "waves" in trial.views] if row else []
        )
        if found:
            series.setdefault(TRUTH, found[0]["truth"])
            series[defence] = found[0]["restored"]
    if not series:
        return None
    marks = [
        {"x": step, "y": height, "line": name, "tip": name, "colour": colour}
        for colour, (name, values) in enumerate(series.items(), start=1)
        for step, height in enumerate(values)
    ]
    heights = [mark["y"] for mark in marks]
    axes = Axis("step"), Axis("height", ends=(min(heights), max(heights)))
    title = findings.label(subject)
    return picture(
        title,
        f"The sea at the first buoy of one user of {title}: {', '.join(series)}",
        [lines(marks, *axes)],
        keys=[Key(name, colour=colour) for colour, name in enumerate(series, start=1)],
        table=Table(
            [Column("series"), Column("step"), Column("height")],
            [[mark["line"], mark["x"], mark["y"]] for mark in marks],
        ),
        definition=Definition(
            (Term("height", "of the sea at the first buoy"),), "One user of one seed", "None."
        ),
    )


views.register("waves")(
    View(
        "Restored waves",
        "The sea at one user's first buoy, and what the strongest attack restored of it under each defence.",
        draw,
    )
)
