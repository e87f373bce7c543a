"""Defences whose adversaries see less than an attacker who trains from the beginning."""

from __future__ import annotations

from leakrange.metrics import described
from leakrange.metrics.numbers import figure
from leakrange.report.findings import Findings, Subject
from leakrange.scenario.results import TrialResult

__all__ = ["outdated_adversaries"]

APART = 0.1
"""The least lead of an attack, as a share of right guesses, that is reported."""


def outdated_adversaries(findings: Findings) -> list[str]:
    """A sentence for each provider and defence where the devices' adversaries are right much less often than
    the best attack; it names the trial with the greatest difference."""
    furthest: dict[tuple[str, str], TrialResult] = {}
    for trial in findings.results.trials:
        cell = (findings.label(Subject.of(trial)), trial.defence)
        if _apart(trial) > max(APART, _apart(furthest[cell]) if cell in furthest else 0.0):
            furthest[cell] = trial
    return [_sentence(*cell, trial) for cell, trial in furthest.items()]


def _apart(trial: TrialResult) -> float:
    reached, local = (trial.metrics.get(name) for name in ("curiosity", "local_curiosity"))
    return 0.0 if reached is None or local is None else reached.value - local.value


def _sentence(label: str, defence: str, trial: TrialResult) -> str:
    reached, local = (
        figure(trial.metrics[name].value, described(name).unit) for name in ("curiosity", "local_curiosity")
    )
    return (
        f"Under {defence} the adversaries that devices trained against guess “{trial.sensitive}” of "
        f"“{label}” right {local} of the time, and the attack {trial.attack}, which learns anew, {reached}: "
        "do not judge this defence by its own adversaries."
    )
