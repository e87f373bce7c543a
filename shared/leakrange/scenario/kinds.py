"""The kinds of attack: by which metric each is judged, first of all."""

from __future__ import annotations

from leakrange.metrics.registry import Metric, described

__all__ = ["leakage_of"]

_LEAKAGE = {"attribute": "curiosity", "student": "curiosity", "membership": "auc", "people": "auc"}


def leakage_of(kind: str) -> Metric:
    """The metric that tells how much an attack of that kind found out."""
    return described(_LEAKAGE[kind])
