"""The worst leak of a run, as a list of runs shows it."""

from __future__ import annotations

from leakrange.metrics.numbers import titled
from leakrange.report.findings import Findings, Subject, leaked
from leakrange.report.headline import grade_of, thing
from leakrange.wire.runs import WorstLeak

__all__ = ["worst_leak"]

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
