"""Labelled samples in memory, the form of every data set in the rest of the range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated, Any, Final

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BeforeValidator, Field

from leakrange.wire.samples import SampleSpec

__all__ = [
    "POOL",
    "POPULATION",
    "SPLITS",
    "Attribute",
    "Labelled",
    "Names",
    "Samples",
    "by_name",
    "names",
    "train_or_test",
]

SPLITS = ("train", "validation", "auxiliary", "test", "held-out")
"""Uses of a sample. Held-out samples are those of a subset's pool that the model does not train on; there are
none without a subset."""
POOL = "pool"
"""Training and held-out samples together: a membership attack asks about these."""
POPULATION: Final = "population"
"""Auxiliary samples of a set with a subset, in random order: the first of them are a fair sample of all, even
where the set is sorted by class or person."""


@dataclass(frozen=True)
class Attribute:
    """A named categorical property of a sample; ``classes`` are the names of labels 0, 1, ... in order."""

    name: str
    classes: tuple[str, ...]
    description: str = ""


def _single(value: Any) -> Any:
    listed = value if isinstance(value, list | tuple) and value else [value]
    if not all(isinstance(name, str) for name in listed):
        raise ValueError("should be a name, or a list of names")
    return value if len(listed) > 1 else listed[0]


def _distinct(value: str | tuple[str, ...]) -> str | tuple[str, ...]:
    for name in names(value):
        if names(value).count(name) > 1:
            raise ValueError(f"{name!r} is named twice")
    return value


List = Annotated[tuple[str, ...], Field(min_length=1)]
Names = Annotated[
    str | List,
    BeforeValidator(_single, json_schema_input_type=str | List),
    AfterValidator(_distinct),
]
"""An attribute, or a list of several. A list of one is that one."""


def names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    """The attributes that are named: none, one, or several."""
    return () if value is None else (value,) if isinstance(value, str) else tuple(value)


def by_name(*attributes: Attribute) -> Mapping[str, Attribute]:
    """Attributes in the form in which a data set declares them."""
    return MappingProxyType({attribute.name: attribute for attribute in attributes})


def train_or_test(tested: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """The official split (N,) of a set without other parts, by a mask of the test samples (N,)."""
    return np.where(tested, SPLITS.index("test"), SPLITS.index("train")).astype(np.uint8)


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Everything known about N samples except their values: attributes, split and near-copy groups.

    labels: per attribute int64 (N,), -1 where unknown. split: uint8 (N,), an index into `SPLITS`. group:
    int64 (N,); samples that share a number are near-copies and never cross a split.
    """

    name: str
    attributes: Mapping[str, Attribute]
    labels: Mapping[str, NDArray[np.int64]]
    split: NDArray[np.uint8]
    group: NDArray[np.int64]
    parts: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    """Further selections of samples, each in its own order. A set with a crowd has its `POOL` and
    `leakrange.data.crowd.PARTS`, one with a subset its `POPULATION`."""

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

    def known(self, split: str, attributes: Sequence[str]) -> NDArray[np.int64]:
        """The indices of `where`, without the samples with an unknown label of one of ``attributes``."""
        chosen = self.where(split)
        for name in attributes:
            chosen = chosen[self.labels[name][chosen] >= 0]
        return chosen

    def members(self) -> NDArray[np.bool_]:
        """Mask of the pool's samples that are trained on, (pool,) in the order of ``where(POOL)``."""
        return np.asarray(self.split[self.where(POOL)] == SPLITS.index("train"))


@dataclass(frozen=True, kw_only=True)
class Samples(Labelled):
    """Samples with their attributes, split and near-copy groups.

    values: (N, *shape) of the dtype and shape of ``spec``. fingerprint: hex digest of the content, the same
    on every machine.
    """

    values: NDArray[Any]
    spec: SampleSpec
    fingerprint: str
    notes: tuple[str, ...] = field(default=())
    """Facts that readers of results have to know, e.g. that this is 40 % of UTKFace."""
