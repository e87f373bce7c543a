"""What a trial of this kind comes to."""

from __future__ import annotations

from dataclasses import dataclass

from leakrange.metrics import metric


@dataclass(frozen=True)
class Weighed:
    """How many weights of a model are so large."""

    count: int


@metric("weights", measures=Weighed, title="large weights", unit="count", role="leakage", rank=26,
        claim="finds {value} large weights", equation="#{w: |w| ≥ least}")  # fmt: skip
def weights(outcome: Weighed) -> float:
    """Their number."""
    return float(outcome.count)
