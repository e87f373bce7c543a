"""Every figure that a report shows, as pure functions of NumPy arrays."""

from __future__ import annotations

from leakrange.metrics.accuracy import accuracy, confusion_matrix, majority_share, nag
from leakrange.metrics.clusters import (
    area_interval,
    effective_counts,
    effective_groups,
    mean_interval,
    share_interval,
)
from leakrange.metrics.entropy import entropy_bits, entropy_histogram, softmax
from leakrange.metrics.estimate import Estimate, OverSeeds
from leakrange.metrics.intervals import auc_interval, student_interval, summarise, wilson_interval
from leakrange.metrics.membership import (
    MembershipReport,
    Separation,
    best_threshold,
    membership_report,
    separation,
)
from leakrange.metrics.outcomes import Guesses, Membership, Ranking, SoftOutputs, UserDecisions
from leakrange.metrics.registry import (
    Metric,
    described,
    in_order,
    measured,
    metric,
    metrics,
    unmeasurable,
    with_unmeasurable,
)
from leakrange.metrics.roc import RocCurve, auc, mean_auc, mean_roc_curve, roc_curve, tpr_at_fpr
from leakrange.metrics.verification import pair_distances, unit_length

__all__ = [
    "Estimate",
    "Guesses",
    "Membership",
    "MembershipReport",
    "Metric",
    "OverSeeds",
    "Ranking",
    "RocCurve",
    "Separation",
    "SoftOutputs",
    "UserDecisions",
    "accuracy",
    "area_interval",
    "auc",
    "auc_interval",
    "best_threshold",
    "confusion_matrix",
    "described",
    "effective_counts",
    "effective_groups",
    "entropy_bits",
    "entropy_histogram",
    "in_order",
    "majority_share",
    "mean_auc",
    "mean_interval",
    "mean_roc_curve",
    "measured",
    "membership_report",
    "metric",
    "metrics",
    "nag",
    "pair_distances",
    "roc_curve",
    "separation",
    "share_interval",
    "softmax",
    "student_interval",
    "summarise",
    "tpr_at_fpr",
    "unit_length",
    "unmeasurable",
    "wilson_interval",
    "with_unmeasurable",
]
