"""The registry of metrics: every figure that a trial can have, and how to read it.

A metric measures one kind of *outcome* (`leakrange.metrics.outcomes`): users' decisions, guessed classes,
scores. `measured` gives every registered metric of a trial's outcomes. So a new metric is one function:

    @metric("error", measures=Guesses, title="error rate", unit="share", role="leakage", higher=False)
    def error(guesses: Guesses) -> float:
        return float((guesses.predicted != guesses.truth).mean())
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from leakrange.metrics.estimate import Estimate
from leakrange.registry import Registry

__all__ = [
    "Metric",
    "Role",
    "Unit",
    "described",
    "in_order",
    "measured",
    "metric",
    "metrics",
    "unmeasurable",
    "with_unmeasurable",
]

Role = Literal["utility", "leakage", "suspicion", "context"]
"""Subject of a figure: what users get, what leaks, an auditor's suspicion of a model, or a value to compare
other figures with."""
Unit = Literal["share", "score", "count", "dB", "bits", "number"]
"""A share of 1 is written in percent, and a score between 0 and 1 as a number."""
Outcome = TypeVar("Outcome")
Value = Estimate | float | None
BOUNDED: tuple[Unit, ...] = ("share", "score")


@dataclass(frozen=True)
class Metric:
    """One figure: its name in results, and what readers need to know about it.

    ``higher``: whether a higher value means more utility or leakage. ``chance``: the value of pure guessing,
    or the name of the metric that holds it. ``lowest``: the least value of a share or score; differences of
    two of them go down to −1. ``floor``: the metric of what a decision alone gives away.
    ``bound``: the metric of what no attack should pass, and ``doubt``, a field of such a bound: what it means
    where an attack does. ``claim``: an attack's result in words; it may contain ``{value}`` and ``{hidden}``.
    ``excess``: the metrics of the excess over a control of this one; their own ``claim`` says what the
    control tells. A metric may need enough of something: ``takes`` says of what, and ``beside`` names a
    metric that is always present where this one would be.
    """

    name: str
    title: str
    unit: Unit
    role: Role
    higher: bool = True
    equation: str = ""
    interval: str = ""
    """Scope and method of the interval of one trial; empty where there is none."""
    chance: float | str | None = None
    lowest: float = 0.0
    floor: str | None = None
    bound: str | None = None
    doubt: str = ""
    claim: str = ""
    excess: tuple[str, ...] = ()
    takes: str = ""
    beside: str | None = None
    rank: int = 100
    """The metric's place in reports; metrics of equal rank are sorted by name."""
    measures: type | None = None
    function: Callable[[Any], Value] | None = None
    version: int = 1
    """Raised when the same outcome gives another value, or another interval, than before."""

    @property
    def best(self) -> float | None:
        """The value that nothing exceeds, for metrics that are bounded by 0 and 1."""
        return (1.0 if self.higher else 0.0) if self.unit in BOUNDED else None

    @property
    def unsigned(self) -> bool:
        """Whether a value below chance tells as much as one above it, as with a guess between two ranks."""
        return self.chance == 0.5

    @property
    def scale(self) -> float:
        """The value that counts as much as the whole of a share: 20 for decibels, since with one decibel more
        a picture has lost a fifth of its mean squared error."""
        return 20.0 if self.unit == "dB" else 1.0


metrics: Registry[Metric] = Registry("metric", "leakrange.metrics")


def metric(
    name: str, *, measures: type[Outcome], title: str, unit: Unit, role: Role, **facts: Any
) -> Callable[[Callable[[Outcome], Value]], Callable[[Outcome], Value]]:
    """Register a function of an outcome under ``name``; ``facts`` are further fields of `Metric`.

    The function returns an estimate or a plain value, or None where the outcome has no such figure.
    """

    def add(function: Callable[[Outcome], Value]) -> Callable[[Outcome], Value]:
        entry = Metric(name, title, unit, role, measures=measures, function=function, **facts)
        metrics.register(name, module=function.__module__)(entry)
        return function

    return add


def measured(*outcomes: object) -> dict[str, Estimate]:
    """Every registered metric of these outcomes, in the order of reports.

    Values that are not finite are left out.
    """
    estimates = {}
    for name in in_order(metrics):
        entry = metrics[name]
        for outcome in outcomes:
            if entry.measures is None or entry.function is None or not isinstance(outcome, entry.measures):
                continue
            value = entry.function(outcome)
            if isinstance(value, float) and math.isfinite(value):
                estimates[name] = Estimate(value=value)
            elif isinstance(value, Estimate):
                estimates[name] = value
    return estimates


def described(name: str) -> Metric:
    """The metric of that name, or a description by the name alone where it is no longer installed."""
    return metrics.get(name) or Metric(name, name.replace("_", " "), "number", "context")


def unmeasurable(name: str, present: Container[str]) -> bool:
    """Whether a trial that has the metrics ``present`` was too small for the metric of that name."""
    companion = described(name).beside
    return companion is not None and companion in present and name not in present


def with_unmeasurable(names: Iterable[str]) -> list[str]:
    """The names in the order of reports, with those of the metrics that belong beside them but need more data
    than there was."""
    present = set(names)
    return in_order(present | {name for name in metrics if unmeasurable(name, present)})


def in_order(names: Iterable[str]) -> list[str]:
    """Names of metrics, each once, in the order in which reports show them."""
    return sorted(set(names), key=lambda name: (described(name).rank, name))
