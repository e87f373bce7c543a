"""Several runs in one chart: leakage against budget, and the plane of utility and leakage."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from leakrange.metrics.numbers import figure, titled
from leakrange.report.charts.budgets import budget_axis
from leakrange.report.charts.definition import BARS, figures, term_of
from leakrange.report.charts.drawing import Key, Picture, lines, picture, points
from leakrange.report.charts.leakage import chance_line, chance_note, leakage_axis, utility_axis
from leakrange.report.findings import Findings, Subject, leak, leaked, level, utility, utility_metric
from leakrange.scenario.results import Summary
from leakrange.wire.views import Definition

__all__ = ["MOST", "overlaid"]

MOST = 24
"""The most charts of each kind."""
Runs = Mapping[str, Findings]
Task = tuple[str, str, str, str]
"""Data, provider, hidden attribute, metric of leakage."""


def overlaid(runs: Runs) -> list[Picture]:
    """The planes of all providers that several runs share, then leakage against budget of each of their
    attacks. A run has a marker and a dash, a defence its colour."""
    shared = _shared(runs)
    planes = [chart for task in shared if (chart := _plane(runs, task)) is not None]
    budgets = [chart for task in shared for chart in _budgets(runs, task)]
    return [*planes[:MOST], *budgets[:MOST]]


def _task(row: Summary | Subject) -> Task:
    subject = row if isinstance(row, Subject) else Subject.of(row)
    return subject.data, subject.provider, subject.sensitive, subject.leakage


def _shared(runs: Runs) -> list[Task]:
    """The tasks of the first run that another run has, too."""
    first, *others = [dict.fromkeys(map(_task, each.subjects)) for each in runs.values()]
    return [task for task in first if any(task in other for other in others)]


def _colours(runs: Runs) -> dict[str, int]:
    """The colours of the defences of all runs: 0 is the undefended case."""
    undefended = {each.undefended for each in runs.values()}
    names = dict.fromkeys(name for each in runs.values() for name in each.defences if name not in undefended)
    return {name: 0 for name in undefended if name is not None} | {
        name: index for index, name in enumerate(names, start=1)
    }


def _plane(runs: Runs, task: Task) -> Picture | None:
    cases = [
        (letter, defence, row)
        for letter, each in runs.items()
        for (subject, defence), row in each.best.items()
        if _task(subject) == task and utility(row) is not None and subject.metric.best is not None
    ]
    if len({letter for letter, *_ in cases}) < 2:
        return None
    colours, place = _colours(runs), {letter: index for index, letter in enumerate(runs)}
    rows = [row for *_, row in cases]
    metric, chance = Subject.of(rows[0]).metric, level(rows)
    x, y = utility_axis(rows), leakage_axis(metric, rows, 0.07)
    dots = [_point(*point, colours, place) for point in cases]
    joined = [{**row, "line": row["defence"], "dash": 0} for row in dots]
    names = dict.fromkeys(defence for _, defence, _ in cases)
    text = "; ".join(row["tip"] for row in dots)
    served = utility_metric(rows[0])
    return picture(
        f"{task[1]} on {task[0]}: {task[2]}",
        f"Plane of {x.title} and {y.title}. {text}.",
        [
            chance_line(chance, y),
            lines(joined, x, y, width=1.2),
            points(dots, x, y),
        ],
        size=(350, 310),
        margins=(32, 28, 46, 54),
        note=chance_note(chance, metric),
        keys=_keys(runs, names, colours),
        table=figures(rows, filter(None, (served, metric)), [letter for letter, *_ in cases]),
        definition=_definition(rows),
    )


def _point(
    letter: str, defence: str, row: Summary, colours: Mapping[str, int], place: Mapping[str, int]
) -> dict[str, Any]:
    used, metric = utility(row), Subject.of(row).metric
    served = utility_metric(row)
    assert used is not None  # else it is not shown
    assert served is not None
    return {
        "x": used.mean,
        "y": leaked(row),
        "colour": colours[defence],
        "marker": place[letter],
        "defence": defence,
        "tip": f"{letter}, {defence}: {titled(served, used.mean)}, {titled(metric, leaked(row))}",
    }


def _budgets(runs: Runs, task: Task) -> list[Picture]:
    rows = [
        (letter, row.defence, row)
        for letter, each in runs.items()
        for row in each.summaries
        if leak(row) is not None and _task(row) == task
    ]
    charts = []
    for attack, knowledge in dict.fromkeys((row.attack, row.knowledge) for *_, row in rows):
        chosen = [each for each in rows if (each[2].attack, each[2].knowledge) == (attack, knowledge)]
        several = len({letter for letter, *_ in chosen}) > 1
        if several and len({row.budget for *_, row in chosen}) > 1:
            charts.append(_against_budget(runs, task, f"{attack} ({knowledge})", chosen))
    return charts


def _against_budget(runs: Runs, task: Task, attack: str, cases: list[tuple[str, str, Summary]]) -> Picture:
    colours, place = _colours(runs), {letter: index for index, letter in enumerate(runs)}
    rows = [row for *_, row in cases]
    metric = Subject.of(rows[0]).metric
    x, y = budget_axis(sorted({row.budget for row in rows})), leakage_axis(metric, rows, 0.06)
    dots, texts = [], []
    for letter, defence in dict.fromkeys((letter, defence) for letter, defence, _ in cases):
        line = sorted(
            (row for run, name, row in cases if (run, name) == (letter, defence)),
            key=lambda row: row.budget,
        )
        tip = f"{letter}, {defence}: " + ", ".join(
            f"{figure(leaked(row), metric.unit)} at {row.budget}" for row in line
        )
        look = {"colour": colours[defence], "marker": place[letter], "dash": place[letter]}
        dots += [
            {"x": row.budget, "y": leaked(row), "line": f"{letter} {defence}", "tip": tip, **look}
            for row in line
        ]
        texts.append(tip)
    return picture(
        f"{task[1]} on {task[0]}: {attack}",
        f"{metric.title} against budget. {'; '.join(texts)}.",
        [
            chance_line(level(rows), y),
            lines(dots, x, y, width=1.8),
            points(dots, x, y, size=42),
        ],
        keys=_keys(runs, dict.fromkeys(defence for _, defence, _ in cases), colours, dashed=True),
        table=figures(rows, [metric], [letter for letter, *_ in cases]),
        definition=_definition(rows),
    )


def _keys(
    runs: Runs, defences: Mapping[str, None], colours: Mapping[str, int], *, dashed: bool = False
) -> list[Key]:
    return [
        *(Key(letter, marker=index, dash=index if dashed else None) for index, letter in enumerate(runs)),
        *(Key(name, colour=colours[name]) for name in defences),
    ]


def _definition(rows: list[Summary]) -> Definition:
    metrics = dict.fromkeys(
        metric
        for row in rows
        for metric in (utility_metric(row), Subject.of(row).metric)
        if metric is not None
    )
    return Definition(tuple(term_of(metric) for metric in metrics), interval=BARS.partition(". ")[2])
