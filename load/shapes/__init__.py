"""The number of users at a time: a module for each shape that a scenario can name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from leakrange.load.shapes.ramp import ramp
from leakrange.load.shapes.soak import soak
from leakrange.load.shapes.spike import spike
from leakrange.scenario.load import Shape

__all__ = ["SHAPES"]

SHAPES: Mapping[str, Callable[[Shape, float, int], int]] = MappingProxyType(
    {"ramp": ramp, "spike": spike, "soak": soak}
)
"""Functions by kind: the number of users so many seconds after the start, of so many at the peak."""
