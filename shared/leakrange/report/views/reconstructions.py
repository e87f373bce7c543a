"""Reconstructions: the attackers' pictures from users' releases, beneath the users' inputs."""

from __future__ import annotations

from dataclasses import dataclass

from leakrange.metrics import described
from leakrange.metrics.numbers import figure, titled
from leakrange.report.attackers import attackers
from leakrange.report.charts.definition import definition_of
from leakrange.report.charts.gallery import StripGallery
from leakrange.report.findings import Findings, Subject
from leakrange.report.views import View, views
from leakrange.scenario.results import Reconstructions, Summary, TrialResult
from leakrange.wire.views import Column, Strip, Table, Value

__all__ = ["Depiction", "gallery", "strips_of"]


@dataclass(frozen=True)
class Depiction:
    """A view of trials in such strips, by name, and its words: whose pictures they are, what each original
    is, what their strip is called, and a sentence about the whole, with a place for the title."""

    view: str
    whose: str
    original: str
    originals: str
    label: str


USERS = Depiction(
    "reconstructions",
    "user",
    "the input",
    "inputs of users",
    "Inputs of users of {} above their reconstructions.",
)


def strips_of(view: object, inputs: str, reconstructed: str) -> tuple[Strip, Strip]:
    """The view of a trial as two strips with these names. Raises `pydantic.ValidationError` for another
    view."""
    read = Reconstructions.model_validate(view)
    return (
        Strip(inputs, "", read.original, _inputs(read, USERS)),
        Strip(reconstructed, "", read.reconstructed, _tips(read, USERS)),
    )


def _inputs(view: Reconstructions, depicted: Depiction) -> list[str]:
    count = len(_tips(view, depicted))
    return [f"{depicted.whose} {place}: {depicted.original}" for place in range(1, count + 1)]


Shown = tuple[str, Summary, TrialResult, Reconstructions]


def gallery(findings: Findings, subject: Subject, depicted: Depiction = USERS) -> StripGallery | None:
    """The reconstructions of a subject, or what else is ``depicted``: for each defence those of the strongest
    plain and of the strongest adaptive attacker, under the first seed that has any. A row of originals is
    above all reconstructions of the same users. None where no trial has any."""
    groups: dict[str, list[Shown]] = {}
    for defence in findings.defences:
        for row in attackers(findings, subject, defence, subject.metric).values():
            trials = [trial for trial in findings.trials(row) if depicted.view in trial.views]
            if trials:
                view = Reconstructions.model_validate(trials[0].views[depicted.view])
                groups.setdefault(view.original, []).append((defence, row, trials[0], view))
    if not groups:
        return None
    strips: list[Strip] = []
    for original, cases in groups.items():
        strips.append(Strip(depicted.originals, "", original, _inputs(cases[0][3], depicted)))
        strips += [
            Strip(
                defence, _beside(row, trial, subject), view.reconstructed, _tips(view, depicted), view.figures
            )
            for defence, row, trial, view in cases
        ]
    title = findings.label(subject)
    text = "; ".join(f"{strip.name} {strip.beside}" for strip in strips if strip.beside)
    seeds = sorted({trial.seed for cases in groups.values() for _, _, trial, _ in cases})
    return StripGallery(
        title,
        f"{depicted.label.format(f'{title} on {subject.data}')} {text}.",
        note=f"{subject.metric.title} over all of them; seed {', '.join(map(str, seeds))}",
        strips=tuple(strips),
        table=_table([each for cases in groups.values() for each in cases], depicted),
        definition=definition_of(
            findings,
            [row for cases in groups.values() for _, row, *_ in cases],
            [described(name) for cases in groups.values() for *_, view in cases for name in view.figures],
            "None: each figure is of one sample.",
        ),
    )


def _table(cases: list[Shown], depicted: Depiction) -> Table:
    """A row for each reconstruction."""
    measured = [
        described(name) for name in dict.fromkeys(name for *_, view in cases for name in view.figures)
    ]
    names = (depicted.whose, "defence", "attack", "knowledge", "budget", "seed")
    columns = [*(Column(name) for name in names), *(Column.of(each.title, each.unit) for each in measured)]
    rows: list[list[Value]] = []
    for defence, row, trial, view in cases:
        for place in range(len(_tips(view, depicted))):
            figures = [
                values[place] if (values := view.figures.get(each.name)) else None for each in measured
            ]
            rows.append([place + 1, defence, row.attack, row.knowledge, row.budget, trial.seed, *figures])
    return Table(columns, rows)


def _beside(row: Summary, trial: TrialResult, subject: Subject) -> str:
    metric = subject.metric
    return f"{row.attack} ({row.knowledge}), {figure(trial.value(metric.name), metric.unit)}"


def _tips(view: Reconstructions, depicted: Depiction) -> list[str]:
    """For each user or person the figures of the reconstruction."""
    texts = [[titled(described(name), value) for value in values] for name, values in view.figures.items()]
    return [
        f"{depicted.whose} {place}: {'; '.join(figures)}"
        for place, figures in enumerate(zip(*texts, strict=True), 1)
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
