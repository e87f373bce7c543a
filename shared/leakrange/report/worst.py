"""The worst leak of a run, as a list of runs shows it; and a run of any size in short."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from leakrange.attacks import attacks
from leakrange.attacks.kinds import leakage_of
from leakrange.metrics import described
from leakrange.metrics.intervals import student_interval
from leakrange.metrics.numbers import count, deviation, titled
from leakrange.report.findings import Findings, Subject, leaked
from leakrange.report.headline import grade_of, thing
from leakrange.scenario.partial import attack_names
from leakrange.store.tables import RunRow
from leakrange.store.trials import StoredCell
from leakrange.wire.runs import WorstLeak
from leakrange.wire.views import RunOverview, WorstCell

__all__ = ["overview", "worst_leak"]

ORDER = ("A", "B", "?", "C", "D", "E")
"""The grades from the best to the worst: what cannot be told is worse than no leak, and no leak yet."""


def worst_leak(findings: Findings) -> WorstLeak | None:
    """The worst grade over all providers and defences; of several with that grade the one whose strongest
    attack goes furthest. None where nothing has a grade."""
    graded = {
        cell: (ORDER.index(grade), grade)
        for cell in findings.verdicts
        if (grade := grade_of(findings, *cell)) is not None
    }
    if not graded:
        return None
    worst = max(graded, key=lambda cell: (graded[cell][0], findings.way(findings.best[cell])))
    order, grade = graded[worst]
    way = findings.way(findings.best[worst])
    return WorstLeak(grade=grade, sentence=_sentence(findings, *worst), rank=order + way / (1 + way))


def _sentence(findings: Findings, subject: Subject, defence: str) -> str:
    row, word = findings.best[subject, defence], findings.verdicts[subject, defence].word
    figure, hidden = titled(subject.metric, leaked(row)), thing(findings, subject)
    under = "" if defence == findings.undefended else f", behind “{defence}”"
    if word == "leaks":
        return f"“{subject.provider}” gives away {hidden}{under}: {figure}"
    if word == "unclear":
        return f"Whether “{subject.provider}” gives away {hidden}{under} cannot be told: {figure}"
    return f"No leak found; nearest to one is {hidden} of “{subject.provider}”{under}: {figure}"


def overview(
    run: RunRow,
    states: Mapping[str, int],
    choices: Mapping[str, dict[str, int]],
    worst: Sequence[StoredCell],
) -> RunOverview:
    """A run in short, from what the database sums up of it (`leakrange.store.trials.Trials`): its trials by
    state, those of each provider, defence and attack, and the worst cells."""
    kinds = {name: leakage_of(attacks[kind].kind).name for name, kind in attack_names(run.scenario).items()}
    cells = [
        WorstCell(
            **{name: getattr(each, name) for name in ("provider", "defence", "attack", "seeds", "mean")},
            cell=each.rest,
            metric=kinds[each.attack],
            deviation=each.deviation,
            interval=None
            if each.deviation is None
            else student_interval(each.mean, each.deviation, each.seeds),
        )
        for each in worst
    ]
    return RunOverview(
        run=run.id,
        name=run.name,
        state=run.state,
        sentence=_first(cells[0], sum(states.values())) if cells else "Nothing has been measured yet.",
        trials=dict(states),
        providers=choices["provider"],
        defences=choices["defence"],
        attacks=choices["attack"],
        worst=cells,
    )


def _first(cell: WorstCell, trials: int) -> str:
    metric = described(cell.metric)
    spread = "" if cell.deviation is None else f" {deviation(cell.deviation, metric.unit)}"
    return (
        f"Of {count(trials, 'trial')} the attack “{cell.attack}” on “{cell.provider}” behind “{cell.defence}”"
        f" goes furthest ({cell.cell}): {titled(metric, cell.mean)}{spread} over {count(cell.seeds, 'seed')}."
        " It is the greatest of many means, so part of it may be chance."
    )
