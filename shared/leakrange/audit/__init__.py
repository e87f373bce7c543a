"""Audits of models whose makers are not trusted, by their releases and by their response to training.

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
