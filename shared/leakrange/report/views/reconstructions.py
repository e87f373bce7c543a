"""Reconstructions: the attackers' pictures from users' releases, beneath the users' inputs."""

from __future__ import annotations

from leakrange.metrics import described
from leakrange.metrics.numbers import figure, titled
from leakrange.report.attackers import attackers
from leakrange.report.charts.definition import definition_of
from leakrange.report.charts.gallery import StripGallery
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.scenario.results import Reconstructions, Summary, TrialResult
from leakrange.wire.views import Column, Strip, Table, Value

__all__ = ["gallery", "strips_of"]


def strips_of(view: object, inputs: str, reconstructed: str) -> tuple[Strip, Strip]:
    """The view of a trial as two strips with these names. Raises `pydantic.ValidationError` for another
    view."""
    read = Reconstructions.model_validate(view)
    return (
        Strip(inputs, "", read.original, _inputs(read)),
        Strip(reconstructed, "", read.reconstructed, _tips(read)),
    )


def _inputs(view: Reconstructions) -> list[str]:
    return [f"user {place}: the input" for place in range(1, len(_tips(view)) + 1)]


Shown = tuple[str, Summary, TrialResult, Reconstructions]


def gallery(findings: Findings, subject: Subject) -> StripGallery | None:
    """The reconstructions of a subject: for each defence those of the strongest plain and of the strongest
    adaptive attacker, under the first seed that has any. A row of originals is above all reconstructions of
    the same users. None where no trial has reconstructions."""
    groups: dict[str, list[Shown]] = {}
    for defence in findings.defences:
        for row in attackers(findings, subject, defence, subject.metric).values():
            trials = [trial for trial in findings.trials(row) if "reconstructions" in trial.views]
            if trials:
                view = Reconstructions.model_validate(trials[0].views["reconstructions"])
                groups.setdefault(view.original, []).append((defence, row, trials[0], view))
    if not groups:
        return None
    strips: list[Strip] = []
    for original, cases in groups.items():
        strips.append(Strip("inputs of users", "", original, _inputs(cases[0][3])))
        strips += [
            Strip(defence, _beside(row, trial, subject), view.reconstructed, _tips(view), view.figures)
            for defence, row, trial, view in cases
        ]
    title = findings.label(subject)
    text = "; ".join(f"{strip.name} {strip.beside}" for strip in strips if strip.beside)
    seeds = sorted({trial.seed for cases in groups.values() for _, _, trial, _ in cases})
    return StripGallery(
        title,
        f"Inputs of users of {title} on {subject.data} above their reconstructions. {text}.",
        note=f"{subject.metric.title} over all users; seed {', '.join(map(str, seeds))}",
        strips=tuple(strips),
        table=_table([each for cases in groups.values() for each in cases]),
        definition=definition_of(
            findings,
            [row for cases in groups.values() for _, row, *_ in cases],
            [described(name) for cases in groups.values() for *_, view in cases for name in view.figures],
            "None: each figure is of one sample.",
        ),
    )


def _table(cases: list[Shown]) -> Table:
    """A row for each reconstruction."""
    measured = [
        described(name) for name in dict.fromkeys(name for *_, view in cases for name in view.figures)
    ]
    names = ("user", "defence", "attack", "knowledge", "budget", "seed")
    columns = [*(Column(name) for name in names), *(Column.of(each.title, each.unit) for each in measured)]
    rows: list[list[Value]] = []
    for defence, row, trial, view in cases:
        for place in range(len(_tips(view))):
            figures = [
                values[place] if (values := view.figures.get(each.name)) else None for each in measured
            ]
            rows.append([place + 1, defence, row.attack, row.knowledge, row.budget, trial.seed, *figures])
    return Table(columns, rows)


def _beside(row: Summary, trial: TrialResult, subject: Subject) -> str:
    metric = subject.metric
    return f"{row.attack} ({row.knowledge}), {figure(trial.value(metric.name), metric.unit)}"


def _tips(view: Reconstructions) -> list[str]:
    """For each user the figures of the reconstruction."""
    texts = [[titled(described(name), value) for value in values] for name, values in view.figures.items()]
    return [
        f"user {place}: {'; '.join(figures)}" for place, figures in enumerate(zip(*texts, strict=True), 1)
    ]


views.register("reconstructions")(
    View(
        "Reconstructions",
        "What users put into the model, as told by their devices and never by the provider; beneath it, "
        "what the strongest attackers made of what each defence let out: the plain one, fitted on undefended "
        "releases (unaware), and the adaptive one, fitted to the defence (aware or averaging). Each "
        "picture’s tooltip holds its figures.",
        gallery,
        wide=True,
    )
)
