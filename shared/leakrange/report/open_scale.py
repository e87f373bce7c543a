"""Words for metrics of leakage whose scale has no end, such as a PSNR.

Such a figure says little by itself. So the metrics between 0 and 1 stand beside it, and it is compared with
what an attack reaches at an honest provider, whose model was trained for its task alone.
"""

from __future__ import annotations

import math

from leakrange.metrics import Estimate, described
from leakrange.metrics.numbers import difference, figure
from leakrange.metrics.verdict import LITTLE, Spread, spread
from leakrange.report.findings import Effect, Findings, Subject, beside, leak, leaked
from leakrange.scenario.results import Summary

__all__ = ["companions", "left", "no_more_than_a_label", "over_honest"]


def companions(row: Summary, subject: Subject) -> str:
    """The other leakage metrics that have a best value: "SSIM 0.861"; "" where there are none, or where the
    metric itself has a best value."""
    if subject.metric.best is not None:
        return ""
    said = [
        f"{other.title} {figure(row.mean(other.name), other.unit)}"
        for other in beside(row, subject.metric)
        if other.best is not None
    ]
    return ", ".join(said)


def over_honest(findings: Findings, subject: Subject, row: Summary) -> str:
    """How far the attack gets beyond the strongest one at an honest provider of the same task; "" where there
    is none, or where the metric has a best value."""
    metric = subject.metric
    if metric.best is not None or subject.honest:
        return ""
    task = (subject.data, subject.target, subject.leakage)
    rivals = [
        (found, findings.label(other))
        for other in findings.subjects
        if other.honest and (other.data, other.target, other.leakage) == task
        if (found := findings.open(other)) is not None
    ]
    if not rivals:
        return ""
    sign = 1.0 if metric.higher else -1.0
    rival, name = max(rivals, key=lambda pair: sign * leaked(pair[0]))
    most, further = leaked(rival), leaked(row) - leaked(rival)
    told = (
        f"the {figure(most, metric.unit)} that the strongest attack reaches at the honest provider “{name}”"
    )
    if not _apart(findings.spread(row, metric), findings.spread(rival, metric)):
        return f" and not clearly different from {told}"
    return f" and {difference(further, metric.unit)} {'above' if further > 0 else 'below'} {told}"


def _apart(one: Spread | None, other: Spread | None) -> bool:
    """Whether one certainly differs from the other."""
    if one is None or other is None:
        return False
    low, high = sorted((one, other), key=lambda each: each.mean)
    return high.mean - low.mean > math.hypot(low.within()[1] - low.mean, high.mean - high.within()[0])


def left(effect: Effect) -> str:
    """What a defence leaves to the strongest attack, and how far that is below the undefended case; "" where
    the metric has a best value."""
    if effect.most is None:
        return ""
    before, after = effect.most
    subject, found = Subject.of(after), leak(after)
    if subject.metric.best is not None or found is None:
        return ""
    unit, change = subject.metric.unit, leaked(after) - leaked(before)
    more = companions(after, subject)
    most = " at most" if effect.subjects > 1 else ""
    way = "less" if change < 0 else "more"
    lower = f"{difference(change, unit)} {way}" if change else "as without it"
    rest = f"{subject.metric.title} {figure(found.mean, unit)}{f' and {more}' if more else ''}"
    return f"leaves {rest}{most}, {lower}"


def no_more_than_a_label(findings: Findings) -> list[str]:
    """The defences that bring every attack from above its floor, which is what a decision alone gives away,
    to that floor or below it, with certainty: "argmax (PSNR 16.6 dB, PSNR of the class's mean picture 16.5
    dB)"."""
    exposed = [
        subject
        for subject in findings.subjects
        if (row := findings.open(subject)) and (far := _above_floor(findings, row, subject))
        if far.within()[0] > 0.0 and far.mean > LITTLE * subject.metric.scale
    ]
    said = []
    for defence in findings.defences:
        rows = [(subject, row) for subject in exposed if (row := findings.best.get((subject, defence)))]
        above = [_above_floor(findings, row, subject) for subject, row in rows]
        known = [far for far in above if far is not None]
        if not known or len(known) < len(rows):
            continue
        far = max(known, key=lambda each: each.within()[1])
        subject, row = rows[known.index(far)]
        metric = subject.metric
        if far.within()[1] > LITTLE * metric.scale or metric.floor is None:
            continue
        floor = f"{described(metric.floor).title} {figure(row.mean(metric.floor), metric.unit)}"
        said.append(f"{defence} ({metric.title} {figure(leaked(row), metric.unit)}, {floor})")
    return said


def _above_floor(findings: Findings, row: Summary, subject: Subject) -> Spread | None:
    """How far an attack is above what a decision alone gives away; None where that is not known."""
    metric = subject.metric
    found = []
    for trial in findings.trials(row):
        reached, floor = trial.metrics.get(metric.name), trial.value(metric.floor or "")
        if reached is None or floor is None:
            return None
        ends = [None if end is None else end - floor for end in (reached.low, reached.high)]
        found.append(Estimate(value=reached.value - floor, low=ends[0], high=ends[1]))
    return spread(found)
