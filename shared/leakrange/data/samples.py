"""Labelled samples in memory: the one form in which every data set reaches the rest of the range; and what is
known of them without their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.samples import SampleSpec

__all__ = ["POOL", "SPLITS", "Attribute", "Labelled", "Samples"]

SPLITS = ("train", "validation", "auxiliary", "test", "held-out")
"""What becomes of a sample. Held out are those of a subset's pool that the model does not train on: there are
none where the specification names no subset."""
POOL = "pool"
"""Training and held-out samples together: those whose membership can be asked after."""


@dataclass(frozen=True)
class Attribute:
    """A named categorical property of a sample; ``classes`` are the names of labels 0, 1, ... in order."""

    name: str
    classes: tuple[str, ...]
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Of N samples all but their values: attributes, split and near-copy groups.

    labels: per attribute int64 (N,), -1 where unknown. split: uint8 (N,), an index into `SPLITS`. group:
    int64 (N,); samples that share a number are near-copies and never cross a split.
    """

    name: str
    attributes: Mapping[str, Attribute]
    labels: Mapping[str, NDArray[np.int64]]
    split: NDArray[np.uint8]
    group: NDArray[np.int64]
    parts: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """Samples by what they are for, in an order of their own, beside the splits: of a crowd its `POOL` and
    `leakrange.data.crowd.PARTS`."""

    def __len__(self) -> int:
        return len(self.split)

    def where(self, split: str) -> NDArray[np.int64]:
        """Indices of the samples of ``split``: one of `SPLITS`, or `POOL`, ascending, or one of the set's
        ``parts``, in that part's order.

        The pool is the same, in the same order, for all subsets of one specification.
        """
        if split in self.parts:
            return self.parts[split]
        if split == POOL:
            parts = [SPLITS.index("train"), SPLITS.index("held-out")]
            return np.flatnonzero(np.isin(self.split, parts)).astype(np.int64)
        return np.flatnonzero(self.split == SPLITS.index(split)).astype(np.int64)

    def members(self) -> NDArray[np.bool_]:
        """Which samples of the pool are trained on, (pool,) in the order of ``where(POOL)``."""
        return np.asarray(self.split[self.where(POOL)] == SPLITS.index("train"))


@dataclass(frozen=True, kw_only=True)
class Samples(Labelled):
    """Samples with their attributes, split and near-copy groups.

    values: (N, *shape) of the dtype and shape that ``spec`` says. fingerprint: hex digest of the content, the
    same on every machine.
    """

    values: NDArray[Any]
    spec: SampleSpec
    fingerprint: str
    notes: tuple[str, ...] = field(default=())
    """What a reader of results must know, e.g. that this is 40 % of UTKFace."""
