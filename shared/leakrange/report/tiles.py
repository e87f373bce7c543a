"""The key figures of a run, computed from its findings."""

from __future__ import annotations

from typing import Literal

from leakrange.metrics.numbers import compared, count, figure
from leakrange.report.answer import HONEST, against, certainty, families, measured
from leakrange.report.effects import Effect, cost, effects, left, remainder
from leakrange.report.findings import Findings, Subject, leaked, utility, utility_metric
from leakrange.scenario.results import Summary
from leakrange.wire.views import Tile

__all__ = ["tiles"]


def tiles(findings: Findings) -> list[Tile]:
    """All key figures that were measured."""
    figures: list[Tile] = []
    for rows in measured(findings, "honest"):
        figures.append(_learnt(findings, "honest", *rows[0]))
    for family in (each for each in families(findings) if each != "honest"):
        for rows in measured(findings, family):
            figures += [_learnt(findings, family, *rows[0]), *_honesty(findings, *rows[0])]
    for scale in findings.scales():
        figures += _extremes(effects(scale))
    return [*figures, *_work(findings)]


TONES: dict[str, Literal["plain", "good", "bad"]] = {"leaks": "bad", "none": "good", "unclear": "plain"}


def _learnt(findings: Findings, family: str, subject: Subject, row: Summary) -> Tile:
    """The result of the strongest attack on providers of a family, labelled by the verdict."""
    metric, verdict = subject.metric, findings.verdict(subject)
    assert verdict is not None  # it has a figure
    party = "Honest outputs" if family == "honest" else f"{family.capitalize()} provider"
    verb = {"honest": "leak", "remote": "leaks"}.get(family, "learns")
    labels = {
        "leaks": f"{party} {verb}",
        "none": f"{party}: no leak found",
        "unclear": f"{party}: cannot tell",
    }
    beside = (
        f"{metric.title} of “{subject.sensitive}” at {findings.label(subject)} "
        f"({certainty(findings, row, subject)}), {against(findings, row, subject, verdict)}"
    )
    return Tile(labels[verdict.word], figure(leaked(row), metric.unit), beside, TONES[verdict.word])


def _extremes(measured_effects: list[Effect]) -> list[Tile]:
    """The strongest defence and the weakest: by the share that the attack keeps, or on a scale without an end
    by the rest of the leak."""
    if not measured_effects:
        return []
    endless = bool(left(measured_effects[0]))
    best = min(measured_effects, key=lambda each: leaked(each.most[1]) if endless else each.kept[1])
    worst = max(measured_effects, key=lambda each: leaked(each.most[1]) if endless else each.kept[0])
    label = "Strongest defence" if worst is not best else "The one defence measured"
    shown = [_defence(label, best, "good" if best.kind == "stops" else "plain")]
    if worst is not best:
        shown.append(_defence("Weakest defence", worst, "bad" if worst.kind == "hardly" else "plain"))
    return shown


def _honesty(findings: Findings, subject: Subject, row: Summary) -> list[Tile]:
    metric, used = utility_metric(row), utility(row)
    if metric is None or used is None:
        return []
    reference = findings.reference(subject)
    less = findings.utility_difference(row, reference) if reference else None
    beside = f"{metric.title}, of “{subject.target}”"
    if less is not None:
        beside += f", {compared(less.mean, HONEST, metric.unit)}"
    return [Tile("While users get", figure(used.mean, metric.unit), beside)]


def _defence(label: str, effect: Effect, tone: Literal["plain", "good", "bad"]) -> Tile:
    return Tile(label, effect.defence, remainder(effect) + cost(effect), tone)


def _work(findings: Findings) -> list[Tile]:
    trials = findings.results.trials
    states = [trial.state for trial in trials]
    unfinished = [
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
