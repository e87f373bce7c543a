"""What FACELEAKS prints."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from leakrange.report.document import Figure

__all__ = ["AUC", "FIRST_CUT", "NOISE", "ROUNDED", "STUDENTS", "TOP_K", "UNDEFENDED"]

FIRST_CUT: Mapping[tuple[str, str], tuple[Figure, Figure, Figure]] = MappingProxyType(
    {
        ("features", "logistic"): (Figure(0.497, 0.005), Figure(0.467, 0.069), Figure(0.479, 0.035)),
        ("features", "forest"): (Figure(0.496, 0.005), Figure(0.470, 0.007), Figure(0.493, 0.011)),
        ("features", "svm"): (Figure(0.497, 0.005), Figure(0.468, 0.069), Figure(0.479, 0.035)),
        ("recognition", "logistic"): (Figure(0.498, 0.006), Figure(0.444, 0.087), Figure(0.465, 0.045)),
        ("recognition", "forest"): (Figure(0.496, 0.005), Figure(0.499, 0.014), Figure(0.497, 0.007)),
        ("recognition", "svm"): (Figure(0.498, 0.007), Figure(0.444, 0.088), Figure(0.465, 0.046)),
    }
)
"""Precision, recall and F1 of Tables 1 and 2. The forest's F1 of .493 lies outside of its precision and
recall."""

AUC: Mapping[tuple[str, str, str], float] = MappingProxyType(
    {
        ("features", "first-cut", "logistic, folds by person"): 0.52,
        ("verification", "first-cut", "distance as threshold"): 0.59,
        ("recognition", "first-cut", "logistic, folds by person"): 0.51,
        ("features", "class-based, no auxiliary data", "S"): 0.68,
        ("features", "class-based, no auxiliary data", "mixture"): 0.70,
        ("features", "class-based, auxiliary data", "qda"): 0.71,
        ("verification", "class-based, no auxiliary data", "mean"): 0.68,
        ("verification", "class-based, no auxiliary data", "mixture"): 0.64,
        ("verification", "class-based, auxiliary data", "logistic"): 0.68,
        ("verification", "class-based, auxiliary data", "qda"): 0.65,
        ("recognition", "class-based, no auxiliary data", "S"): 0.62,
        ("recognition", "class-based, auxiliary data", "qda"): 0.62,
    }
)
"""Sections 5.1 to 5.4."""

NOISE: Mapping[tuple[str, float], Figure] = MappingProxyType(
    {
        ("features", 0.1): Figure(0.676, 0.001),
        ("features", 1.0): Figure(0.674, 0.003),
        ("features", 5.0): Figure(0.494, 0.017),
        ("verification", 0.1): Figure(0.684, 0.000),
        ("verification", 1.0): Figure(0.684, 0.003),
        ("verification", 5.0): Figure(0.645, 0.013),
        ("recognition", 0.1): Figure(0.621, 0.002),
        ("recognition", 1.0): Figure(0.494, 0.006),
        ("recognition", 5.0): Figure(0.451, 0.0139),
    }
)
"""Table 3."""

UNDEFENDED: Mapping[str, float] = MappingProxyType(
    {"features": 0.70, "verification": 0.68, "recognition": 0.62}
)
ROUNDED = UNDEFENDED
"""To one significant figure: all AUCs "remain the same" (Section 7.1)."""

TOP_K: Mapping[tuple[str, int], float] = MappingProxyType(
    {("the k highest", k): 0.57 for k in (15, 10, 5, 2)}
    | {("the k highest", 1): 0.5034}
    | {("zeros for the others", k): 0.53 for k in (15, 10, 5, 2, 1)}
)
"""Section 7.1; .57 and .53 are told for a whole range of k."""

STUDENTS: Mapping[str, float] = MappingProxyType(
    {"verification accuracy": 0.964, "verification threshold": 1.232, "recognition accuracy": 0.99}
)
"""Section 3.3; verification on LFW, a student of 20 people."""
