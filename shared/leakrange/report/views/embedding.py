"""Embeddings: whether users' features group by the attribute that they should hide."""

from __future__ import annotations

from leakrange.metrics.numbers import count
from leakrange.report.charts.drawing import Key
from leakrange.report.charts.panels import MOST, Cloud, Panels
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.wire.views import Column, Definition, Table, Term


def _draw(findings: Findings, subject: Subject) -> Panels | None:
    clouds: list[Cloud] = []
    classes: list[int] = []
    for defence in findings.defences:
        held = findings.views(findings.best.get((subject, defence)), "embedding")
        if not held:
            continue
        view = held[0]
        classes, colours = view["classes"], [1 + number for number in view["classes"]]
        if "samples" in view and not clouds:
            clouds.append(Cloud("samples as they are", view["samples"], colours))
        clouds.append(Cloud(defence, view["released"], colours))
    if not clouds:
        return None
    class_names = findings.results.classes.get(subject.data, {}).get(subject.sensitive, [])
    names = {n: class_names[n] if n < len(class_names) else str(n) for n in sorted(set(classes))}
    keys = [Key(name, colour=1 + number) for number, name in names.items()]
    fewer = f"{MOST:,} of {len(classes):,} are drawn, the table has all" if len(classes) > MOST else ""
    title = findings.label(subject)
    return Panels(
        title,
        f"t-SNE of the features of {count(len(classes), 'user')} of {title} on {subject.data}, coloured by "
        f"{subject.sensitive}: {', '.join(cloud.name for cloud in clouds)}",
        note="; ".join(filter(None, [count(len(classes), "user"), subject.sensitive, fewer])),
        keys=tuple(keys),
        clouds=tuple(clouds),
        table=Table(
            [Column("panel"), Column("x"), Column("y"), Column(subject.sensitive)],
            [
                [cloud.name, *point, names[number]]
                for cloud in clouds
                for point, number in zip(cloud.points, classes, strict=True)
            ],
        ),
        definition=Definition(
            (Term("t-SNE", "van der Maaten and Hinton 2008; axes and distances of groups mean nothing"),),
            f"{count(len(classes), 'user')} of one seed",
            "None: every user is a point.",
        ),
    )


views.register("embedding")(
    View(
        "Features in a plane",
        "t-SNE of what users’ devices released and of their samples, coloured by the hidden attribute; under "
        "each defence as the strongest attack at the largest budget saw it, first seed. Where colours part, "
        "anybody can tell them apart; where they mix, a good classifier may still do so. Axes and distances "
        "between groups mean nothing.",
        _draw,
        wide=True,
    )
)
