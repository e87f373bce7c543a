"""Trials that differ by seed alone, put together."""

from __future__ import annotations

from collections.abc import Iterable

from leakrange.metrics import summarise as estimate
from leakrange.scenario.results import Summary, TrialResult

__all__ = ["Estimate", "identity", "summarise"]

Estimate = tuple[float, float | None, tuple[float, float] | None]
"""Mean, sample deviation, 95 % interval (low, high) over seeds; of a single seed only the mean is known."""

_SHARED = (
    "provider", "data", "behaviour", "release", "target", "sensitive",
    "defence", "attack", "knowledge", "budget",
)  # fmt: skip


def identity(row: TrialResult | Summary) -> tuple[str | int, ...]:
    """What trials of one summary have in common: everything that is varied, but for the seed."""
    return tuple(getattr(row, name) for name in _SHARED)


def summarise(trials: Iterable[TrialResult]) -> list[Summary]:
    """One summary per cell of the matrix, in order of first appearance; only finished trials count.

    A cell of which nothing has finished has count 0 and no figures.
    """
    cells: dict[tuple[str | int, ...], list[TrialResult]] = {}
    for trial in trials:
        cells.setdefault(identity(trial), []).append(trial)
    return [_summary(cell) for cell in cells.values()]


def _summary(cell: list[TrialResult]) -> Summary:
    done = [trial for trial in cell if trial.state == "done"]
    found = [trial.membership for trial in done if trial.membership is not None]
    majorities = [trial.majority for trial in done if trial.majority is not None]
    return Summary(
        **{name: getattr(cell[0], name) for name in _SHARED},
        count=len(done),
        majority=sum(majorities) / len(majorities) if majorities else None,
        honesty=_over_seeds([trial.honesty for trial in done]),
        curiosity=_over_seeds([trial.curiosity for trial in done]),
        auc=_over_seeds([trial.auc for trial in done]),
        nag=_over_seeds([trial.nag for trial in done]),
        tpr_at_001=_over_seeds([each.tpr_at_001 for each in found]),
        tpr_at_0001=_over_seeds([each.tpr_at_0001 for each in found]),
    )


def _over_seeds(values: list[float | None]) -> Estimate | None:
    known = [value for value in values if value is not None]
    return estimate(known) if known else None
