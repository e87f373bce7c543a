"""The limits of what a report says: the meaning of its words, their certainty, and figures to be doubted."""

from __future__ import annotations

from leakrange.metrics import Estimate, Metric, described
from leakrange.metrics.clusters import FEW
from leakrange.metrics.numbers import SPACE, count, difference, figure
from leakrange.metrics.verdict import BOUND, LITTLE
from leakrange.report.effects import HARDLY
from leakrange.report.findings import Findings, Subject
from leakrange.scenario.partial import attack_names, partial_answers
from leakrange.scenario.results import TrialResult
from leakrange.scenario.unread import unread_decoders

__all__ = ["beyond_bounds", "caveats", "outdated_adversaries"]

APART = 0.1
"""The least lead of an attack, as a share of right guesses, that is reported."""


def caveats(findings: Findings) -> list[str]:
    """The meaning of the words in the sentences, and the limits of their certainty."""
    notes = [
        "A provider “leaks” where an attack is beyond chance, or beyond what its control tells, with "
        "certainty: at a level of 5 % that is divided by the number of attacks that the strongest is chosen "
        f"of. “No leak was found” where one of more than {BOUND:.2f} beyond chance (an AUC of "
        f"{0.5 + BOUND:.2f}) is excluded, and it is “little” that leaks where one of more than {LITTLE:.2f} "
        "is. All else cannot be told. A defence “stops” a leak where no leak is found under it, and “hardly "
        f"changes” it when every attack keeps {100 * HARDLY:.0f} % or more of its lead over chance. "
        f"{_decibels(findings)}"
        "Intervals are over users and seeds. Attacks are the strongest of those that were run: a stronger "
        "one may exist."
    ]
    seeds = len({trial.seed for trial in findings.results.trials if trial.state == "done"})
    if seeds == 1:
        notes.append(
            "There is one seed only: how much the figures vary from training to training is not known."
        )
    elif seeds == 2:
        notes.append(
            "There are two seeds only: how much the figures vary from training to training is hardly known."
        )
    notes += [*_few_groups(findings), *unread_decoders(findings.results.trials)]
    results = findings.results
    notes += partial_answers(findings.answers, results.trials, attack_names(results.scenario))
    return [*notes, *beyond_bounds(findings), *outdated_adversaries(findings)]


def _few_groups(findings: Findings) -> list[str]:
    """A warning on the intervals of trials whose samples are of few people, or mostly of one."""
    done = [trial for trial in findings.results.trials if trial.state == "done"]
    few = [least for trial in done if (least := trial.value("effective_groups") or FEW) < FEW]
    if not few:
        return []
    return [
        f"The 95 % intervals over the samples of {count(len(few), 'trial')} (of {len(done):,}) rest on few "
        f"people or recordings, or mostly on one: on as much as {min(few):.1f} of equal size. Below {FEW} "
        "they are approximate, and wide."
    ]


def _decibels(findings: Findings) -> str:
    """The same limits for a leakage in decibels."""
    metric = next((each.metric for each in findings.subjects if each.metric.unit == "dB"), None)
    if metric is None:
        return ""
    far, near = (difference(limit * metric.scale, metric.unit) for limit in (BOUND, LITTLE))
    return f"Of the {metric.title} these limits are {far} and {near}. "


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
            texts.append(_beyond(findings, metric, max(passing, key=lambda pair: pair[0])[1], len(passing)))
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


def _beyond(findings: Findings, metric: Metric, trial: TrialResult, trials: int) -> str:
    bound = described(metric.bound or "")
    reached, most = (figure(trial.value(each.name), each.unit) for each in (metric, bound))
    others = f"; so do {count(trials - 1, 'other trial')}" if trials > 2 else "; so does another trial"
    return (
        f"The attack {trial.attack} ({trial.knowledge}, budget {trial.budget:,}, seed{SPACE}{trial.seed}) on "
        f"“{findings.label(Subject.of(trial))}” under {trial.defence} passes a bound: its {metric.title} of "
        f"“{trial.sensitive}” is {reached}, its {bound.title} {most}{others if trials > 1 else ''}. That is "
        f"a bug, or {bound.doubt or 'an estimate of the bound that is wrong'}."
    )


def outdated_adversaries(findings: Findings) -> list[str]:
    """A sentence for each provider and defence where the devices' adversaries are right much less often than
    the best attack; it names the trial with the greatest difference."""
    furthest: dict[tuple[str, str], TrialResult] = {}
    for trial in findings.results.trials:
        cell = (findings.label(Subject.of(trial)), trial.defence)
        if _lead(trial) > max(APART, _lead(furthest[cell]) if cell in furthest else 0.0):
            furthest[cell] = trial
    return [_outdated(*cell, trial) for cell, trial in furthest.items()]


def _lead(trial: TrialResult) -> float:
    reached, local = (trial.metrics.get(name) for name in ("curiosity", "local_curiosity"))
    return 0.0 if reached is None or local is None else reached.value - local.value


def _outdated(label: str, defence: str, trial: TrialResult) -> str:
    reached, local = (
        figure(trial.metrics[name].value, described(name).unit) for name in ("curiosity", "local_curiosity")
    )
    return (
        f"Under {defence} the adversaries that devices trained against guess “{trial.sensitive}” of "
        f"“{label}” right {local} of the time, and the attack {trial.attack}, which learns anew, {reached}: "
        "do not judge this defence by its own adversaries."
    )
