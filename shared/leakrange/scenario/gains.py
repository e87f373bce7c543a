"""How far an attack went from what somebody reaches who knows nothing."""

from __future__ import annotations

from leakrange.attacks.kinds import leakage_of
from leakrange.metrics import Metric
from leakrange.scenario.results import Summary, TrialResult

__all__ = ["chance", "gain"]


def chance(row: Summary | TrialResult, of: Metric | None = None) -> float | None:
    """What somebody reaches who knows nothing, in the metric of the row's kind of attack, or in another."""
    level = (of or leakage_of(row.kind)).chance
    if not isinstance(level, str):
        return level
    return row.mean(level) if isinstance(row, Summary) else row.value(level)


def gain(trial: TrialResult) -> float | None:
    """The part of the way from the chance level to the best value that the attack went, 0 where it did worse
    than chance: of an accuracy PASS Eq. 13. None where the metric has no best value."""
    metric = leakage_of(trial.kind)
    value, level = trial.value(metric.name), chance(trial)
    if value is None or level is None or metric.best is None:
        return None
    return 0.0 if level == metric.best else max(0.0, (value - level) / (metric.best - level))
