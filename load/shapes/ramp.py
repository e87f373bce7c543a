"""More and more users."""

from __future__ import annotations

from leakrange.scenario.load import Shape

__all__ = ["ramp"]


def ramp(shape: Shape, at: float, peak: int) -> int:
    """From one user to ``peak`` of them after ``shape.seconds``, evenly, and as many from then on."""
    return max(1, min(peak, int(1 + (peak - 1) * at / shape.seconds)))
