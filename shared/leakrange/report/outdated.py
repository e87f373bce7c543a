"""Defences whose own adversaries see less than an attacker who learns anew."""

from __future__ import annotations

from leakrange.metrics import described
from leakrange.metrics.numbers import figure
from leakrange.report.findings import Findings, Subject
from leakrange.scenario.results import TrialResult

__all__ = ["outdated_adversaries"]

APART = 0.1
"""By how much an attack has to be more often right before it is told."""


def outdated_adversaries(findings: Findings) -> list[str]:
    """A sentence for each provider and defence where devices' own adversaries are right much less often than
    the attack that is right most often; of the trials the one that they differ in most stands for all."""
    furthest: dict[tuple[str, str], TrialResult] = {}
    for trial in findings.results.trials:
        cell = (findings.label(Subject.of(trial)), trial.defence)
        if _apart(trial) > max(APART, _apart(furthest[cell]) if cell in furthest else 0.0):
            furthest[cell] = trial
    return [_told(*cell, trial) for cell, trial in furthest.items()]


def _apart(trial: TrialResult) -> float:
    reached, own = (trial.metrics.get(name) for name in ("curiosity", "local_curiosity"))
    return 0.0 if reached is None or own is None else reached.value - own.value


def _told(label: str, defence: str, trial: TrialResult) -> str:
    reached, own = (
        figure(trial.metrics[name].value, described(name).unit) for name in ("curiosity", "local_curiosity")
    )
    return (
        f"Under {defence} the adversaries that devices trained against guess “{trial.sensitive}” of "
        f"“{label}” right {own} of the time, and the attack {trial.attack}, which learns anew, {reached}: "
        "do not judge this defence by its own adversaries."
    )
