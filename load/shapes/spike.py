"""Few users, for a while all, and few again."""

from __future__ import annotations

from leakrange.scenario.load import Shape

__all__ = ["spike"]


def spike(shape: Shape, at: float, peak: int) -> int:
    """The share ``shape.base`` of the ``peak``, at least one; all of it from ``shape.seconds`` to twice
    that."""
    return peak if shape.seconds <= at < 2 * shape.seconds else max(1, round(shape.base * peak))
