"""Words for metrics of leakage whose scale has no end, such as a PSNR.

Such a figure alone says little. So the text adds the metrics between 0 and 1, and compares the figure with
the one that an attack reaches at an honest provider, whose model was trained for its task alone.
"""

from __future__ import annotations

import math

from leakrange.metrics import Estimate, described
from leakrange.metrics.numbers import difference, figure, titled
from leakrange.metrics.verdict import LITTLE, Spread, spread
from leakrange.report.findings import Findings, Subject, beside, leaked
from leakrange.scenario.results import Summary

__all__ = ["companions", "no_more_than_a_label", "over_honest"]


def companions(row: Summary, subject: Subject) -> str:
    """The other leakage metrics that have a best value: "SSIM 0.861"; "" where there are none, or where the
    metric itself has a best value."""
    if subject.metric.best is not None:
        return ""
    entries = [
        titled(other, row.mean(other.name)) for other in beside(row, subject.metric) if other.best is not None
    ]
    return ", ".join(entries)


def over_honest(findings: Findings, subject: Subject, row: Summary) -> str:
    """The attack's distance beyond the strongest one at an honest provider of the same task; "" where there
    is none, or where the metric has a best value."""
    metric = subject.metric
    if metric.best is not None or subject.honest:
        return ""
    task = (subject.data, subject.target, subject.leakage)
    rivals = [
        (attack, findings.label(other))
        for other in findings.subjects
        if other.honest and (other.data, other.target, other.leakage) == task
        if (attack := findings.open(other)) is not None
    ]
    if not rivals:
        return ""
    sign = 1.0 if metric.higher else -1.0
    rival, name = max(rivals, key=lambda pair: sign * leaked(pair[0]))
    most, further = leaked(rival), leaked(row) - leaked(rival)
    rival_text = (
        f"the {figure(most, metric.unit)} that the strongest attack reaches at the honest provider “{name}”"
    )
    if not _apart(findings.spread(row, metric), findings.spread(rival, metric)):
        return f" and not clearly different from {rival_text}"
    return f" and {difference(further, metric.unit)} {'above' if further > 0 else 'below'} {rival_text}"


def _apart(one: Spread | None, other: Spread | None) -> bool:
    """Whether one certainly differs from the other."""
    if one is None or other is None:
        return False
    low, high = sorted((one, other), key=lambda each: each.mean)
    return high.mean - low.mean > math.hypot(low.within()[1] - low.mean, high.mean - high.within()[0])


def no_more_than_a_label(findings: Findings) -> list[str]:
    """The defences that, with certainty, bring every attack from above its floor to that floor or below it;
    the floor is what a decision alone gives away. "argmax (PSNR 16.6 dB, PSNR of the class's mean picture
    16.5 dB)"."""
    exposed = [
        subject
        for subject in findings.subjects
        if (row := findings.open(subject)) and (distance := _above_floor(findings, row, subject))
        if distance.within()[0] > 0.0 and distance.mean > LITTLE * subject.metric.scale
    ]
    descriptions = []
    for defence in findings.defences:
        rows = [(subject, row) for subject in exposed if (row := findings.best.get((subject, defence)))]
        above = [_above_floor(findings, row, subject) for subject, row in rows]
        distances = [distance for distance in above if distance is not None]
        if not distances or len(distances) < len(rows):
            continue
        distance = max(distances, key=lambda candidate: candidate.within()[1])
        subject, row = rows[distances.index(distance)]
        metric = subject.metric
        if distance.within()[1] > LITTLE * metric.scale or metric.floor is None:
            continue
        floor = titled(described(metric.floor), row.mean(metric.floor))
        descriptions.append(f"{defence} ({titled(metric, leaked(row))}, {floor})")
    return descriptions


def _above_floor(findings: Findings, row: Summary, subject: Subject) -> Spread | None:
    """The attack's distance above what a decision alone gives away; None where that is not known."""
    metric = subject.metric
    distances = []
    for trial in findings.trials(row):
        reached, floor = trial.metrics.get(metric.name), trial.value(metric.floor or "")
        if reached is None or floor is None:
            return None
        ends = [None if end is None else end - floor for end in (reached.low, reached.high)]
        distances.append(Estimate(value=reached.value - floor, low=ends[0], high=ends[1]))
    return spread(distances)
