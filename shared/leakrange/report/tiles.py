"""The key figures of a run, computed from its findings."""

from __future__ import annotations

from functools import partial
from typing import Literal

from leakrange.metrics.numbers import compared, count, figure
from leakrange.report.answer import HONEST, against, by_certainty, certainty, families, measured
from leakrange.report.effects import Effect, cost, effects, left, remainder
from leakrange.report.findings import Findings, Subject, leaked, utility, utility_metric
from leakrange.report.headline import hidden_things
from leakrange.scenario.results import Summary
from leakrange.wire.runs import STATES
from leakrange.wire.views import Tile

__all__ = ["tiles"]


def tiles(findings: Findings) -> list[Tile]:
    """All key figures that were measured. The first three are for who decides: the worst leak, the defence
    that leaves least of it, and how much was tried."""
    strongest = [rows[0] for family in families(findings) for rows in measured(findings, family)]
    worst = min((subject for subject, _ in strongest), key=partial(by_certainty, findings), default=None)
    first, others = list[Tile](), list[Tile]()
    for subject, row in strongest:
        (first if subject == worst else others).append(_learnt(findings, subject, row))
        if not subject.honest:
            others += _served(findings, subject, row)
    for scale in findings.scales():
        extremes = _extremes(scale)
        (first if worst in scale.subjects else others).extend(extremes[:1])
        others += extremes[1:]
    return [*first, *_work(findings), *others]


TONES: dict[str, Literal["plain", "good", "bad"]] = {"leaks": "bad", "none": "good", "unclear": "plain"}


def _learnt(findings: Findings, subject: Subject, row: Summary) -> Tile:
    """The result of the strongest attack on a provider, labelled by the verdict."""
    metric, verdict = subject.metric, findings.verdict(subject)
    assert verdict is not None  # it has a figure
    thing = hidden_things(findings, [subject])
    labels = {
        "leaks": f"“{subject.provider}” gives away {thing}",
        "none": f"No leak of {thing} was found at “{subject.provider}”",
        "unclear": f"Cannot tell whether “{subject.provider}” gives away {thing}",
    }
    beside = (
        f"{metric.title} ({certainty(findings, row, subject)}), {against(findings, row, subject, verdict)}"
    )
    return Tile(labels[verdict.word], figure(leaked(row), metric.unit), beside, TONES[verdict.word])


def _extremes(scale: Findings) -> list[Tile]:
    """The strongest defence of what leaks by one metric, and the weakest: by the share that the attack keeps,
    or on a scale without an end by the rest of the leak."""
    measured_effects = effects(scale)
    if not measured_effects:
        return []
    of = f"of {hidden_things(scale, scale.leaking())}"
    endless = bool(left(measured_effects[0]))
    best = min(measured_effects, key=lambda each: leaked(each.most[1]) if endless else each.kept[1])
    worst = max(measured_effects, key=lambda each: leaked(each.most[1]) if endless else each.kept[0])
    label = f"{'Strongest' if worst is not best else 'The one measured'} defence {of}"
    shown = [_defence(label, best, "good" if best.kind == "stops" else "plain")]
    if worst is not best:
        shown.append(_defence(f"Weakest defence {of}", worst, "bad" if worst.kind == "hardly" else "plain"))
    return shown


def _served(findings: Findings, subject: Subject, row: Summary) -> list[Tile]:
    metric, used = utility_metric(row), utility(row)
    if metric is None or used is None:
        return []
    reference = findings.reference(subject)
    less = findings.utility_difference(row, reference) if reference else None
    beside = f"{metric.title}, of “{subject.target}”"
    if less is not None:
        beside += f", {compared(less.mean, HONEST, metric.unit)}"
    return [Tile(f"Users of “{subject.provider}” get", figure(used.mean, metric.unit), beside)]


def _defence(label: str, effect: Effect, tone: Literal["plain", "good", "bad"]) -> Tile:
    return Tile(label, effect.defence, remainder(effect) + cost(effect), tone)


def _work(findings: Findings) -> list[Tile]:
    trials = findings.results.trials
    states = [trial.state for trial in trials]
    unfinished = [
        f"{states.count(state)} {STATES[state]}"
        for state in ("failed", "refused", "running", "queued", "cancelled")
        if state in states
    ]
    done = states.count("done")
    parts = [count(len({trial.seed for trial in trials}), "seed"), *unfinished]
    spent = [row["spent"] for row in findings.results.ledger if isinstance(row.get("spent"), int)]
    if spent:
        parts.append(f"{count(sum(spent), 'sample')} answered on {count(len(spent), 'API key')}")
    figure = f"{done:,}" if done == len(states) else f"{done:,} of {len(states):,}"
    return (
        [Tile("Trials finished", figure, ", ".join(parts), "bad" if "failed" in states else "plain")]
        if trials
        else []
    )
