"""How many users ask at a time: a module for each shape that a scenario can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from leakrange.scenario.load import Shape
from load.shapes.ramp import ramp
from load.shapes.soak import soak
from load.shapes.spike import spike

__all__ = ["SHAPES"]

SHAPES: Mapping[str, Callable[[Shape, float, int], int]] = MappingProxyType(
    {"ramp": ramp, "spike": spike, "soak": soak}
)
"""By kind: the number of users so many seconds after the start, of so many at the peak."""
