"""Sections 3.1 and 3.2 on data set ``quadrants``: what one linear output can tell of two attributes, and what
a mixture of two can."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from leakrange.jobs.recipe import DataSpec, NetSpec, Schedule, TrainingRecipe

__all__ = [
    "BETAS",
    "COUNT",
    "PAPER",
    "SCHEDULE",
    "FrontierPoint",
    "MixtureRow",
    "measure_frontier",
    "measure_mixtures",
]

COUNT = 40_000
"""Points, of which 8,000 are test points: the share of them with y = s, which decides δ^y + δ^s of a linear
boundary, then deviates from 1/2 by half a percentage point."""
BETAS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""β^s along the frontier, β^y = 1 − β^s."""
SCHEDULE = Schedule(epochs=10, batch=400, lr=0.05, channels_last=False)
"""The paper names none."""
SEEDS = (0, 1, 2)

PAPER = {"hard": (1.0, 1.0), "normal": (0.99, 0.95)}
"""(δ^y, δ^s) in the caption of Fig. 4, at β = (.8, .2)."""


@dataclass(frozen=True)
class MixtureRow:
    """A mixture of two logistic regressions on test points; honesty and curiosity are shares in [0, 1]."""

    mixture: Literal["hard", "normal"]
    beta_y: float
    beta_s: float
    seed: int
    honesty: float
    curiosity: float


@dataclass(frozen=True)
class FrontierPoint:
    """A logistic regression of Eq. 12 on test points; honesty and curiosity are shares in [0, 1]."""

    beta_y: float
    beta_s: float
    seed: int
    honesty: float
    curiosity: float

    @property
    def deviation(self) -> float:
        """|δ^y − (1.5 − δ^s)|."""
        return abs(self.honesty - (1.5 - self.curiosity))


def measure_mixtures(
    *, beta_s: float = 0.2, seeds: Sequence[int] = SEEDS, count: int = COUNT, schedule: Schedule = SCHEDULE
) -> list[MixtureRow]:
    """The hard and the normal mixture for every seed, which draws the points, too (Fig. 4)."""
    rows = []
    for seed in seeds:
        for kind in ("hard", "normal"):
            beta = {"y": 1.0 - beta_s, "s": beta_s}
            parameters = {"target": "y", "sensitive": "s", "mixture": kind, "beta": beta}
            honesty, curiosity = _trained("curious/mixture", parameters, seed, count, schedule)
            rows.append(MixtureRow(kind, beta["y"], beta["s"], seed, honesty, curiosity))
    return rows


def measure_frontier(
    betas: Sequence[float] = BETAS,
    *,
    seeds: Sequence[int] = SEEDS,
    count: int = COUNT,
    schedule: Schedule = SCHEDULE,
) -> list[FrontierPoint]:
    """One logistic regression of Eq. 12 for every seed, which draws the points, too, and every β^s in [0, 1]
    (Section 3.1)."""
    points = []
    for seed in seeds:
        for beta_s in betas:
            beta = {"y": 1.0 - beta_s, "s": beta_s}
            parameters = {"target": "y", "sensitive": "s", "beta": beta}
            honesty, curiosity = _trained("curious/convex", parameters, seed, count, schedule)
            points.append(FrontierPoint(beta["y"], beta["s"], seed, honesty, curiosity))
    return points


def _trained(
    behaviour: str, parameters: dict[str, Any], seed: int, count: int, schedule: Schedule
) -> tuple[float, float]:
    """Test honesty and curiosity of a linear net, trained as a provider trains it."""
    from leakrange.data import load
    from leakrange.providers.training import train

    recipe = TrainingRecipe(
        data=DataSpec(name="quadrants", count=count, auxiliary=0.0, seed=seed),
        behaviour=behaviour,
        parameters=parameters,
        net=NetSpec(name="linear"),
        schedule=schedule,
        seed=seed,
    )
    figures = train(recipe, load(recipe.data)).figures["test"]
    return figures["honesty"], figures["curiosity"]
