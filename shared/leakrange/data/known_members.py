"""The splits of a set whose owner says on whom a model was trained: the pool that membership is asked about,
and everybody else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from leakrange.data.samples import Attribute, Labelled
from leakrange.data.splits import (
    AUXILIARY,
    HELD_OUT,
    TEST,
    TRAIN,
    UNUSED,
    VALIDATION,
    by_groups,
    share_of,
    shuffled_groups,
    stream,
)
from leakrange.jobs.recipe import DataSpec, Subset
from leakrange.wire.errors import InvalidInput

__all__ = ["members_apart", "unknown_members"]

ANSWERS = ("no", "yes")
"""The classes of an attribute that tells who was trained on."""


def unknown_members(attributes: Mapping[str, Attribute], name: str) -> str | None:
    """The reason why an attribute of that name does not tell who was trained on; None if it does."""
    if name not in attributes:
        return f"the data has no attribute {name!r}"
    if attributes[name].classes != ANSWERS:
        return f"{name!r} has the classes {', '.join(attributes[name].classes)}, and not no and yes"
    return None


def members_apart(whole: Labelled, spec: DataSpec, subset: Subset) -> NDArray[np.uint8]:
    """The split of each sample, uint8 (N,): an index into `SPLITS`, or `UNUSED`.

    Of the samples that a model was trained on, the pool's are training samples, and all others are unused.
    Of those that it was not trained on, the pool's are held out; ``spec`` gives shares of the others to the
    attacker and to validation, and the remaining ones are test samples. No group of near-copies is in two
    splits. Raises `InvalidInput` where the attribute does not tell members, or where there are too few.
    """
    name = str(subset.members)
    if reason := unknown_members(whole.attributes, name):
        raise InvalidInput(reason, hint="'leakrange data import --member' makes such an attribute")
    label, group = whole.labels[name], whole.group
    members = np.flatnonzero(label == ANSWERS.index("yes"))
    others = np.flatnonzero((label == ANSWERS.index("no")) & ~np.isin(group, group[members]))
    wanted = round(subset.share * subset.pool)
    split = np.full(len(whole), UNUSED, dtype=np.uint8)
    for who, samples, count, part in (
        ("members", members, wanted, TRAIN),
        ("others", others, subset.pool - wanted, HELD_OUT),
    ):
        if not 0 < count <= len(samples):
            raise InvalidInput(
                f"a pool of {subset.pool} with a share of {subset.share:g} wants {count} {who}, of whom there"
                f" are {len(samples)}",
                hint="draw another pool, or import more rows",
            )
        split[by_groups(samples, group, stream(spec.seed, f"pool of {who}"))[:count]] = part
    left = others[~np.isin(group[others], group[split == HELD_OUT])]
    order = shuffled_groups(group[left], stream(spec.seed, "split"))
    split[left] = TEST
    split[left[share_of(group[left], order, spec.validation)]] = VALIDATION
    split[left[share_of(group[left], order[::-1], spec.auxiliary)]] = AUXILIARY
    if not (split == TEST).any():
        raise InvalidInput(
            f"a pool of {subset.pool} leaves nobody to use the model: {len(left)} others are left",
            hint="draw a smaller pool, or import more rows that it was not trained on",
        )
    return split
