"""Examining models without trusting who made them: from what they release, and how they take to training.

`viciousness` and `curiosity` train nets and import torch; nothing here does by itself.
"""

from __future__ import annotations

from leakrange.audit.entropy import (
    Detection,
    EntropyExcess,
    EntropyStatistics,
    detection,
    entropy_excess,
    entropy_statistics,
)
from leakrange.audit.population import ErrorRates, Rate, error_rates, rates_by_group

__all__ = [
    "Detection",
    "EntropyExcess",
    "EntropyStatistics",
    "ErrorRates",
    "Rate",
    "detection",
    "entropy_excess",
    "entropy_statistics",
    "error_rates",
    "rates_by_group",
]
