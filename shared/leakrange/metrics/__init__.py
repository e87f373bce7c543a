"""Every figure that a report shows, as pure functions of NumPy arrays."""

from __future__ import annotations

from leakrange.metrics.accuracy import accuracy, confusion_matrix, majority_share, nag

__all__ = ["accuracy", "confusion_matrix", "majority_share", "nag"]
