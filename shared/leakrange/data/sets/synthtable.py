"""A drawn table: rows with something to ask and something to hide, without any file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, DataSet, Outline, datasets
from leakrange.data.samples import Attribute, by_name
from leakrange.data.splits import stream
from leakrange.data.tables import Quantity, table
from leakrange.jobs.recipe import DataSpec

__all__ = ["SynthTable"]

COLUMNS = (
    "studied",
    "worked",
    "trained",
    "walked",
    "slept",
    "read",
    "cooked",
    "played",
    "travelled",
    "spent",
)
"""Hours of a week, less their mean."""
LEVEL = 1 / 64
"""Step to which hours are rounded, as a diary does."""
MIX = np.array(
    [
        [1.0, 0.9, 0.8, 0.0, 0.1, 0.5, 0.0, 0.0, 0.2, 0.4],
        [0.0, 0.3, 0.5, 1.0, 0.7, 0.0, 0.2, 0.4, 0.0, 0.0],
    ]
)
"""Weights of a row's ambition and of its calm in each column."""
GROUP = np.array([0.0, 0.0, 0.2, 0.0, 0.0, 0.0, 0.9, 0.8, 0.0, 0.0])
HOME = np.array([0.0, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0, 0.9, 0.8])
"""Half the distance of the groups, and of neighbouring homes, in each column."""
NOISE = 0.6


@datasets.register("synthtable")
class SynthTable(DataSet):
    """Weeks of invented people. Whether one passes an examination depends on ambition and calm; group and
    home shift columns of their own. The three are independent, and each row has noise of its own."""

    name = "synthtable"
    description = "drawn weeks of people: examination, group and home are independent"
    attributes = by_name(
        Attribute("passes", ("no", "yes"), "told by many columns together"),
        Attribute("group", ("north", "south"), "told by three columns"),
        Attribute("home", ("alone", "couple", "family"), "told by three other columns"),
    )
    spec = table([Quantity(name, 0.0, 1.0) for name in COLUMNS])
    source = "drawn by Leakrange from a seed; nobody kept a diary"
    default_count = 6000
    notes = ("a drawn table: attributes are told by few columns, and depend on nothing else",)

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        """``spec.count`` rows, the same for the same ``spec.seed``."""
        labels = _labels(spec)
        traits = _traits(spec)
        noise = NOISE * _bells(spec, "noise", len(COLUMNS))
        shifts = np.outer(2 * labels["group"] - 1, GROUP) + np.outer(labels["home"] - 1, HOME)
        hours = traits @ MIX + shifts + noise
        return Content(values=np.asarray(np.round(hours / LEVEL) * LEVEL, dtype=np.float32), labels=labels)

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The labels of these rows; no row is drawn."""
        return Outline(labels=_labels(spec))


def _labels(spec: DataSpec) -> dict[str, NDArray[np.int64]]:
    count = spec.count or SynthTable.default_count
    drawn = {
        name: (stream(spec.seed, f"synthtable {name}").random(count) * classes).astype(np.int64)
        for name, classes in (("group", 2), ("home", 3))
    }
    ambition, calm = _traits(spec).T
    return {"passes": (ambition + 0.5 * calm > 0).astype(np.int64), **drawn}


def _traits(spec: DataSpec) -> NDArray[np.float64]:
    """Ambition and calm, (N, 2)."""
    return _bells(spec, "traits", 2)


def _bells(spec: DataSpec, purpose: str, columns: int) -> NDArray[np.float64]:
    """Numbers of mean 0 and deviation 1 (N, columns): sums of twelve uniform ones."""
    count = spec.count or SynthTable.default_count
    drawn = stream(spec.seed, f"synthtable {purpose}").random((count, columns, 12))
    return np.asarray(drawn.sum(axis=-1) - 6)
