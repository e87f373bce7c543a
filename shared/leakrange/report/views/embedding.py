"""Embeddings: do users' features lie by the attribute that they are to hide?"""

from __future__ import annotations

from leakrange.metrics.numbers import count
from leakrange.report.charts.drawing import Key
from leakrange.report.charts.panels import Cloud, Panels
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views


def _draw(findings: Findings, subject: Subject) -> Panels | None:
    clouds: list[Cloud] = []
    classes: list[int] = []
    for defence in findings.defences:
        row = findings.best.get((subject, defence))
        trials = [t for t in findings.trials(row) if "embedding" in t.views] if row else []
        if not trials:
            continue
        view = trials[0].views["embedding"]
        classes, colours = view["classes"], [1 + number for number in view["classes"]]
        if "samples" in view and not clouds:
            clouds.append(Cloud("samples as they are", view["samples"], colours))
        clouds.append(Cloud(defence, view["released"], colours))
    if not clouds:
        return None
    known = findings.results.classes.get(subject.data, {}).get(subject.sensitive, [])
    keys = [
        Key(known[number] if number < len(known) else str(number), colour=1 + number)
        for number in sorted(set(classes))
    ]
    title = findings.label(subject)
    return Panels(
        title,
        f"t-SNE of the features of {count(len(classes), 'user')} of {title} on {subject.data}, coloured by "
        f"{subject.sensitive}: {', '.join(cloud.name for cloud in clouds)}",
        note=f"{count(len(classes), 'user')}; {subject.sensitive}",
        keys=tuple(keys),
        clouds=tuple(clouds),
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
