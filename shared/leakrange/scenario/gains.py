"""Gains of an attack over somebody who knows nothing, or who only has its control."""

from __future__ import annotations

from collections.abc import Sequence

from leakrange.attacks.kinds import leakage_of
from leakrange.metrics import Estimate, Metric
from leakrange.metrics.registry import described
from leakrange.metrics.verdict import Reached, spread
from leakrange.scenario.results import Summary, TrialResult

__all__ = ["beyond", "chance", "control_of", "gain", "reached"]


def chance(row: Summary | TrialResult, of: Metric | None = None) -> float | None:
    """Return the chance level, which somebody without any knowledge reaches, in the metric of the row's kind
    of attack, or in another."""
    level = (of or leakage_of(row.kind)).chance
    if not isinstance(level, str):
        return level
    return row.mean(level) if isinstance(row, Summary) else row.value(level)


def gain(trial: TrialResult) -> float | None:
    """Return the share of the way from chance to the best value that the attack covered, 0 if it did worse
    than chance: of an AUC the advantage 2·AUC − 1, of an accuracy PASS Eq. 13. None if the metric has no best
    value."""
    metric = leakage_of(trial.kind)
    value, level = trial.value(metric.name), chance(trial)
    if value is None or level is None or metric.best is None:
        return None
    return 0.0 if level == metric.best else max(0.0, (value - level) / (metric.best - level))


def control_of(rows: Sequence[Summary] | Sequence[TrialResult]) -> Metric | None:
    """Return the metric for the excess over the control of all these rows; None if some have none."""
    if not rows:
        return None
    names = leakage_of(rows[0].kind).excess
    return next((described(name) for name in names if all(name in row.metrics for row in rows)), None)


def beyond(trial: TrialResult) -> Estimate | None:
    """Return how far the main metric of a trial is beyond chance (greater: more leakage); None if either is
    not known."""
    metric = leakage_of(trial.kind)
    figure, level = trial.metrics.get(metric.name), chance(trial)
    if figure is None or level is None:
        return None
    ends = [None if end is None else end - level for end in (figure.low, figure.high)]
    if metric.higher:
        return Estimate(value=figure.value - level, low=ends[0], high=ends[1])
    low, high = (None if end is None else -end for end in reversed(ends))
    return Estimate(value=level - figure.value, low=low, high=high)


def reached(trials: Sequence[TrialResult]) -> Reached:
    """Return what one attack reached over these finished trials, which differ only by their seed: beyond its
    control if all have one, else beyond chance.

    An AUC that is reliably below chance is inverted before it is compared with its control: an attacker who
    sees that the scores rank people the wrong way round can invert them.
    """
    if not trials:
        return Reached()
    metric = leakage_of(trials[0].kind)
    constant = any("constant" in trial.metrics for trial in trials)
    plain = [excess for trial in trials if (excess := beyond(trial)) is not None]
    if len(plain) < len(trials):
        return Reached(constant=constant, scale=metric.scale)
    of_chance = Reached(
        _mean(plain), spread(plain), unsigned=metric.unsigned, constant=constant, scale=metric.scale
    )
    control = control_of(trials)
    if control is None:
        return of_chance
    more = [trial.metrics[control.name] for trial in trials]
    if of_chance.turned:
        more = [_turned(each, excess) for each, excess in zip(more, plain, strict=True)]
    return Reached(_mean(more), spread(more), of_chance.beyond, constant=constant, scale=metric.scale)


def _mean(estimates: Sequence[Estimate]) -> float:
    return sum(each.value for each in estimates) / len(estimates)


def _turned(excess: Estimate, of_chance: Estimate) -> Estimate:
    """Return the excess over the control of inverted scores, from their excess over chance."""
    ends = [None if end is None else end - 2 * of_chance.value for end in (excess.low, excess.high)]
    return Estimate(value=excess.value - 2 * of_chance.value, low=ends[0], high=ends[1])
