"""An embedding in the plane, in which points lie near each other where long vectors do."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["MOST", "embedded"]

MOST = 400
"""Largest number of vectors that are embedded, since the time grows with it."""
FEWEST = 20
PERPLEXITY = 30.0


def embedded(values: NDArray[np.floating], seed: int) -> NDArray[np.float32] | None:
    """The t-SNE (N, 2) of ``values`` (N, ...), which starts from their first two principal components (van
    der Maaten and Hinton 2008).

    Distances between groups mean little in it, and neither do its axes. None for fewer than 20 vectors, more
    than 400, vectors that are not finite, and vectors that are all equal.
    """
    rows = values.reshape(len(values), -1).astype(np.float64)
    if not FEWEST <= len(rows) <= MOST or not np.isfinite(rows).all() or not rows.std(axis=0).any():
        return None
    from sklearn.manifold import TSNE

    if rows.shape[1] == 1:
        rows = np.concatenate([rows, np.zeros_like(rows)], axis=1)  # two components are asked for
    perplexity = min(PERPLEXITY, (len(rows) - 1) / 3)
    method = TSNE(perplexity=perplexity, init="pca", random_state=seed)
    points: NDArray[np.float32] = method.fit_transform(rows).astype(np.float32)
    return points
