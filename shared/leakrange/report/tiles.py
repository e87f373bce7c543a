"""The key figures of a run, computed from its findings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from leakrange.metrics.numbers import compared, count, difference, figure
from leakrange.report.answer import HONEST, against, cost, families, kept, measured, named_level
from leakrange.report.findings import (
    Findings,
    Subject,
    Verdict,
    gap,
    leak,
    little,
    utility,
    utility_metric,
)
from leakrange.report.open_scale import left
from leakrange.scenario.results import Summary

__all__ = ["Tile", "tiles"]


@dataclass(frozen=True)
class Tile:
    """One key figure: what it is, the figure, and what it is to be compared with."""

    label: str
    figure: str
    beside: str
    tone: Literal["plain", "good", "bad"] = "plain"


def tiles(findings: Findings) -> list[Tile]:
    """The key figures, as far as they were measured."""
    made: list[Tile] = []
    for rows in measured(findings, "honest"):
        made.append(_exposed(findings, *rows[0]))
    for family in families(findings)[1:]:
        for rows in measured(findings, family):
            made += [_inferred(findings, family, *rows[0]), *_honesty(findings, *rows[0])]
    for scale in findings.scales():
        made += _extremes(scale.verdicts())
    return [*made, *_work(findings)]


def _exposed(findings: Findings, subject: Subject, row: Summary) -> Tile:
    """The honest provider whose outputs leak most: how far beyond chance."""
    distance, found, metric = gap(row), leak(row), subject.metric
    who = f"“{subject.sensitive}” at {findings.label(subject)}, the most exposed"
    if distance is None:
        value = figure(found.mean if found else None, metric.unit)
        return Tile("Honest outputs leak", value, f"{metric.title} of {who}, {against(row, subject)}")
    tone: Literal["good", "bad"] = "good" if distance <= little(metric) else "bad"
    side = "above" if (distance >= 0) == metric.higher else "below"
    away = difference(distance, metric.unit)
    return Tile("Honest outputs leak", away, f"{side} {named_level(row, subject)}: {who}", tone)


def _extremes(verdicts: list[Verdict]) -> list[Tile]:
    """The strongest defence and the weakest: by what the attack keeps, or on a scale without an end by what
    is left of the leak."""
    if not verdicts:
        return []
    endless = bool(left(verdicts[0]))
    best = min(verdicts, key=lambda v: v.worst if endless else v.kept[1])
    worst = max(verdicts, key=lambda v: v.worst if endless else v.kept[0])
    label = "Strongest defence" if worst is not best else "The one defence measured"
    made = [_defence(label, best, "good" if best.effect == "stops" else "plain")]
    if worst is not best:
        made.append(_defence("Weakest defence", worst, "bad" if worst.effect == "hardly" else "plain"))
    return made


def _inferred(findings: Findings, family: str, subject: Subject, row: Summary) -> Tile:
    found, metric = leak(row), subject.metric
    distance = gap(row)
    tone: Literal["good", "bad"] = "good" if distance is not None and distance <= little(metric) else "bad"
    beside = f"{metric.title} of “{subject.sensitive}” at {findings.label(subject)}, {against(row, subject)}"
    label = f"{family.capitalize()} provider learns"
    return Tile(label, figure(found.mean if found else None, metric.unit), beside, tone)


def _honesty(findings: Findings, subject: Subject, row: Summary) -> list[Tile]:
    metric, found = utility_metric(row), utility(row)
    if metric is None or found is None:
        return []
    reference = findings.reference(subject)
    less = findings.utility_difference(row, reference) if reference else None
    beside = f"{metric.title}, of “{subject.target}”"
    if less is not None:
        beside += f", {compared(less.mean, HONEST, metric.unit)}"
    return [Tile("While users get", figure(found.mean, metric.unit), beside)]


def _defence(label: str, verdict: Verdict, tone: Literal["plain", "good", "bad"]) -> Tile:
    said = left(verdict) or f"the attack keeps {kept(verdict)} of its gain"
    return Tile(label, verdict.defence, said + cost(verdict), tone)


def _work(findings: Findings) -> list[Tile]:
    trials = findings.results.trials
    states = [trial.state for trial in trials]
    rest = [
        f"{states.count(state)} {word}"
        for state, word in (
            ("failed", "failed"),
            ("refused", "refused by a limit"),
            ("running", "running"),
            ("queued", "waiting"),
            ("cancelled", "cancelled"),
        )
        if state in states
    ]
    done = states.count("done")
    parts = [count(len({trial.seed for trial in trials}), "seed"), *rest]
    spent = [row["spent"] for row in findings.results.ledger if isinstance(row.get("spent"), int)]
    if spent:
        parts.append(f"{count(sum(spent), 'sample')} answered on {count(len(spent), 'API key')}")
    figure = f"{done:,}" if done == len(states) else f"{done:,} of {len(states):,}"
    return (
        [Tile("Trials finished", figure, ", ".join(parts), "bad" if "failed" in states else "plain")]
        if trials
        else []
    )
