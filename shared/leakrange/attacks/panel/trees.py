"""Gradient-boosted trees, kept as arrays and applied by NumPy."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.attacks.panel.learners import Foldwise, Rows, State, shares_of

__all__ = ["BoostedTrees"]

LEAVES = 6
RATE = 0.15
FEWEST = 10
"""Records in a leaf."""


class BoostedTrees(Foldwise):
    """scikit-learn's gradient boosting on histograms; its settings are how many trees of each class are used.

    Logarithms would change no split, so it reads raw numbers alone. Of at most two million numbers, some
    4,000 records of 512.
    """

    name: ClassVar[str] = "boosted trees"
    soft: ClassVar[tuple[str, ...]] = ("raw",)
    most: ClassVar[int] = 2_000_000
    rounds: ClassVar[tuple[int, ...]] = (8, 16, 32)

    def fit(self, rows: Rows, labels: NDArray[np.int64], classes: int, seed: int) -> list[State]:
        """See `Foldwise.fit`."""
        from sklearn.ensemble import HistGradientBoostingClassifier

        bias = np.log(shares_of(labels, classes))
        present = np.unique(labels)
        if len(present) < 2:
            return [_constant(bias)] * len(self.rounds)
        boosted = HistGradientBoostingClassifier(
            learning_rate=RATE,
            max_iter=self.rounds[-1],
            max_leaf_nodes=LEAVES,
            min_samples_leaf=FEWEST,
            early_stopping=False,
            random_state=seed % 2**32,
        ).fit(rows, labels)
        columns = present[1:] if len(present) == 2 else present
        bias[present] = 0.0
        bias[columns] = np.ravel(boosted._baseline_prediction)
        trees = [tree.nodes for stage in boosted._predictors for tree in stage]
        column = np.tile(columns, len(boosted._predictors))
        per = len(columns)
        return [_arrays(trees[: many * per], column[: many * per], bias) for many in self.rounds]

    @staticmethod
    def logits(state: State, rows: Rows) -> NDArray[np.floating]:
        """See `Learner.logits`."""
        scores = np.tile(state["bias"], (len(rows), 1))
        feature, threshold, child = state["feature"], state["threshold"], state["child"]
        every = np.arange(len(rows))
        for tree, column in enumerate(state["column"]):
            node = np.zeros(len(rows), dtype=np.int64)
            for _ in range(int(state["depth"][tree])):
                right = rows[every, feature[tree, node]] > threshold[tree, node]
                node = child[tree, node, right.astype(np.int64)]
            scores[:, column] += state["value"][tree, node]
        return scores


def _constant(bias: NDArray[np.float64]) -> State:
    return _arrays([], np.zeros(0, dtype=np.int64), bias)


def _arrays(trees: list[NDArray[Any]], column: NDArray[np.int64], bias: NDArray[np.float64]) -> State:
    """The nodes of all trees side by side (trees, nodes); a leaf is its own child."""
    shape = (len(trees), 2 * LEAVES - 1)
    arrays: dict[str, NDArray[Any]] = {
        "feature": np.zeros(shape, dtype=np.int64),
        "threshold": np.zeros(shape),
        "child": np.zeros((*shape, 2), dtype=np.int64),
        "value": np.zeros(shape),
        "depth": np.array([nodes["depth"].max() for nodes in trees], dtype=np.int64),
        "column": column,
        "bias": bias,
    }
    for number, nodes in enumerate(trees):
        inner, itself = nodes["is_leaf"] == 0, np.arange(len(nodes))
        arrays["feature"][number, itself] = np.where(inner, nodes["feature_idx"], 0)
        arrays["threshold"][number, itself] = np.where(inner, nodes["num_threshold"], 0.0)
        arrays["child"][number, itself, 0] = np.where(inner, nodes["left"], itself)
        arrays["child"][number, itself, 1] = np.where(inner, nodes["right"], itself)
        arrays["value"][number, itself] = np.where(inner, 0.0, nodes["value"])
    return arrays
