"""Summaries of trials that differ only by seed."""

from __future__ import annotations

from collections.abc import Iterable

from leakrange.metrics import in_order
from leakrange.metrics import summarise as over_seeds
from leakrange.scenario.results import Summary, TrialResult, Varied

__all__ = ["identity", "summarise"]


def identity(row: Varied) -> tuple[str | int, ...]:
    """Return what the trials of one summary have in common."""
    return tuple(getattr(row, name) for name in Varied.model_fields)


def summarise(trials: Iterable[TrialResult]) -> list[Summary]:
    """Return one summary per cell of the matrix, in order of first appearance; only finished trials count.

    A cell of which nothing has finished has count 0 and no figures.
    """
    cells: dict[tuple[str | int, ...], list[TrialResult]] = {}
    for trial in trials:
        cells.setdefault(identity(trial), []).append(trial)
    return [_summary(cell) for cell in cells.values()]


def _summary(cell: list[TrialResult]) -> Summary:
    done = [trial for trial in cell if trial.state == "done"]
    return Summary(
        **{name: getattr(cell[0], name) for name in Varied.model_fields},
        count=len(done),
        metrics={
            name: over_seeds([trial.metrics[name].value for trial in done if name in trial.metrics])
            for name in in_order(name for trial in done for name in trial.metrics)
        },
    )
