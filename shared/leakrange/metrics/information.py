"""Entropies of discrete columns, in nats, by counting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["joint_entropy", "total_correlation"]


def joint_entropy(*columns: NDArray[np.integer]) -> float:
    """Shannon entropy of the tuples that ``columns`` (N,) make, as they are distributed here; in nats, 0 to
    log N. That of no columns is 0.

    So H(A|B) is ``joint_entropy(a, b) - joint_entropy(b)``, and I(A; B) the sum of both entropies without the
    joint one. Raises `ValueError` for columns that are empty or of different length.
    """
    if not columns:
        return 0.0
    if not len(columns[0]) or len({len(column) for column in columns}) > 1:
        raise ValueError("entropies need columns of one length, with something in them")
    _, counts = np.unique(np.stack(columns, axis=1), axis=0, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log(shares)).sum() + 0.0)


def total_correlation(*columns: NDArray[np.integer]) -> float:
    """By how much the entropies of ``columns`` (N,) exceed their joint one, in nats; 0 where they are
    independent."""
    return sum(joint_entropy(column) for column in columns) - joint_entropy(*columns)
