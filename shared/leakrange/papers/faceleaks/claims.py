"""The paper's order of services and attacks."""

from __future__ import annotations

from leakrange.papers.orderings import Claim

__all__ = ["CLAIMS"]

CLASS = {"attack": "class-based", "logarithm": ""}
SINGLE = {"attack": "first-cut", "folds_by": "person"}

CLAIMS = (
    Claim(
        "all vectors of a person tell more than single ones",
        {**CLASS, "method": "S", "folds_by": ""},
        {**SINGLE, "method": "logistic"},
        "auc",
    ),
    Claim(
        "all distances of a person tell more than single ones",
        {**CLASS, "method": "mean", "folds_by": ""},
        {"attack": "first-cut", "method": "distance"},
        "auc",
        differing=("folds_by",),
    ),
    Claim(
        "feature vectors tell more than confidences",
        {**CLASS, "method": "S", "service": "features", "features": "normalised"},
        {**CLASS, "method": "S", "service": "recognition"},
        "auc",
        differing=("features",),
    ),
    Claim(
        "rounding to one figure takes no more than .05 from an attacker who knows of it",
        {**CLASS, "defence": "round 1", "knowledge": "aware"},
        {**CLASS, "defence": ""},
        "auc",
        room=0.05,
    ),
    Claim(
        "an attacker who averages over noise is ahead of one who is unaware of it",
        {**CLASS, "knowledge": "averaging"},
        {**CLASS, "knowledge": "unaware"},
        "auc",
    ),
)
