"""All users from the beginning."""

from __future__ import annotations

from leakrange.scenario.load import Shape

__all__ = ["soak"]


def soak(shape: Shape, at: float, peak: int) -> int:  # noqa: ARG001
    """All of them at any time."""
    return peak
