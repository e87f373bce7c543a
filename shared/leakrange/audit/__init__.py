"""Audits of models whose makers are not trusted, by their releases and by their response to training.

`viciousness` and `curiosity` train nets and import torch; nothing here does by itself.
"""

from __future__ import annotations

from leakrange.audit.entropy import EntropyExcess, entropy_excess
from leakrange.audit.population import ErrorRates, Rate, error_rates, rates_by_group

__all__ = ["EntropyExcess", "ErrorRates", "Rate", "entropy_excess", "error_rates", "rates_by_group"]
