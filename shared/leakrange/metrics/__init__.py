"""Every figure that a report shows, as pure functions of NumPy arrays."""

from __future__ import annotations

from leakrange.metrics.accuracy import accuracy, confusion_matrix, majority_share, nag
from leakrange.metrics.distance import pair_distances, unit_length
from leakrange.metrics.entropy import entropy_bits, entropy_histogram, softmax
from leakrange.metrics.intervals import (
    auc_interval,
    effective_counts,
    student_interval,
    student_quantile,
    summarise,
    wilson_interval,
)
from leakrange.metrics.membership import (
    MembershipReport,
    Separation,
    best_threshold,
    membership_report,
    separation,
)
from leakrange.metrics.roc import RocCurve, auc, mean_auc, mean_roc_curve, roc_curve, tpr_at_fpr

__all__ = [
    "MembershipReport",
    "RocCurve",
    "Separation",
    "accuracy",
    "auc",
    "auc_interval",
    "best_threshold",
    "confusion_matrix",
    "effective_counts",
    "entropy_bits",
    "entropy_histogram",
    "majority_share",
    "mean_auc",
    "mean_roc_curve",
    "membership_report",
    "nag",
    "pair_distances",
    "roc_curve",
    "separation",
    "softmax",
    "student_interval",
    "student_quantile",
    "summarise",
    "tpr_at_fpr",
    "unit_length",
    "wilson_interval",
]
