"""Which reconstructions of a run are shown on the page of runs."""

from __future__ import annotations

from collections.abc import Iterable

from leakrange.attacks.kinds import leakage_of
from leakrange.metrics.numbers import figure
from leakrange.scenario.results import Reconstructions, TrialResult
from leakrange.wire.runs import Reconstructed

__all__ = ["VIEW", "strongest"]

VIEW = "reconstructions"


def strongest(trials: Iterable[TrialResult]) -> list[Reconstructed]:
    """Of trials with reconstructions, for each provider and defence the one that leaked most by the metric of
    its kind; of equal ones the first."""
    most: dict[tuple[str, ...], TrialResult] = {}
    for trial in trials:
        cell = (trial.data, trial.provider, trial.release, trial.target, trial.sensitive, trial.defence)
        if cell not in most or _leaked(trial) > _leaked(most[cell]):
            most[cell] = trial
    return [_shown(trial) for trial in most.values()]


def _leaked(trial: TrialResult) -> float:
    metric = leakage_of(trial.kind)
    value = trial.value(metric.name)
    return float("-inf") if value is None else value if metric.higher else -value


def _shown(trial: TrialResult) -> Reconstructed:
    view, metric = Reconstructions.model_validate(trial.views[VIEW]), leakage_of(trial.kind)
    return Reconstructed(
        provider=trial.provider,
        defence=trial.defence,
        attack=trial.attack,
        knowledge=trial.knowledge,
        budget=trial.budget,
        seed=trial.seed,
        reached=f"{metric.title} {figure(trial.value(metric.name), metric.unit)}",
        original=view.original,
        reconstructed=view.reconstructed,
    )
