"""Attacks whose results exceed the theoretical bound on them."""

from __future__ import annotations

from leakrange.metrics import Estimate, Metric, described
from leakrange.metrics.numbers import SPACE, count, figure
from leakrange.report.findings import Findings, Subject
from leakrange.scenario.results import TrialResult

__all__ = ["beyond_bounds"]


def beyond_bounds(findings: Findings) -> list[str]:
    """A sentence for each metric whose bound some trial passes, by the intervals of both; it names the trial
    that goes furthest."""
    texts = []
    for metric in findings.metrics:
        if metric.bound is None:
            continue
        passing = [
            (excess, trial)
            for trial in findings.results.trials
            if trial.state == "done" and (excess := _past(trial, metric, metric.bound)) > 0.0
        ]
        if passing:
            texts.append(_sentence(findings, metric, max(passing, key=lambda pair: pair[0])[1], len(passing)))
    return texts


def _past(trial: TrialResult, metric: Metric, bound: str) -> float:
    """The distance of the figure's interval beyond that of its bound; 0 or less where it is within the
    bound."""
    reached, limit = trial.metrics.get(metric.name), trial.metrics.get(bound)
    if reached is None or limit is None:
        return 0.0
    return _low(reached) - _high(limit) if metric.higher else _low(limit) - _high(reached)


def _low(estimate: Estimate) -> float:
    return estimate.value if estimate.low is None else estimate.low


def _high(estimate: Estimate) -> float:
    return estimate.value if estimate.high is None else estimate.high


def _sentence(findings: Findings, metric: Metric, trial: TrialResult, trials: int) -> str:
    bound = described(metric.bound or "")
    reached, most = (figure(trial.value(each.name), each.unit) for each in (metric, bound))
    others = f"; so do {count(trials - 1, 'other trial')}" if trials > 2 else "; so does another trial"
    return (
        f"The attack {trial.attack} ({trial.knowledge}, budget {trial.budget:,}, seed{SPACE}{trial.seed}) on "
        f"“{findings.label(Subject.of(trial))}” under {trial.defence} passes a bound: its {metric.title} of "
        f"“{trial.sensitive}” is {reached}, its {bound.title} {most}{others if trials > 1 else ''}. That is "
        f"a bug, or {bound.doubt or 'an estimate of the bound that is wrong'}."
    )
