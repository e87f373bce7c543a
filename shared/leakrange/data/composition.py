"""Training samples of which a stated share has one class of an attribute, and the attacker's own samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from leakrange.data.samples import Attribute, Labelled
from leakrange.data.splits import (
    TRAIN,
    UNUSED,
    VALIDATION,
    by_groups,
    share_of,
    shuffled,
    shuffled_groups,
    stream,
)
from leakrange.jobs.recipe import Composition, DataSpec
from leakrange.wire.errors import InvalidInput

__all__ = ["composed", "unknown_class"]


def unknown_class(attributes: Mapping[str, Attribute], wanted: Composition) -> tuple[str, str] | None:
    """The field that names nothing of the data, and why; None where both name something."""
    if wanted.attribute not in attributes:
        return "attribute", f"the data has no attribute {wanted.attribute!r}"
    classes = attributes[wanted.attribute].classes
    if wanted.having not in classes:
        return "having", f"{wanted.attribute!r} has the classes {', '.join(classes)}"
    return None


def composed(
    whole: Labelled, spec: DataSpec, wanted: Composition
) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """The split of each sample, uint8 (N,), an index into `SPLITS` or `UNUSED`; and the indices of the
    attacker's samples that it asks about, in random order.

    These are half of the auxiliary samples. A provider's training samples are drawn from the training split.
    An attacker's models are trained on samples of the other auxiliary half, and validated on what is left of
    it. Without a share all samples keep their split. No group of near-copies is in both halves. Raises
    `InvalidInput` for an unknown attribute or class, and where there are too few samples of one side.
    """
    if (reason := unknown_class(whole.attributes, wanted)) is not None:
        raise InvalidInput(reason[1])
    auxiliary = whole.where("auxiliary")
    group = whole.group[auxiliary]
    asked = share_of(group, shuffled_groups(group, stream(spec.seed, "asked")), 0.5)
    population = auxiliary[asked]
    population = population[shuffled(stream(spec.seed, "asked in order"), len(population))]
    split = whole.split.copy()
    if wanted.share is None:
        return split, population
    source = auxiliary[~asked] if wanted.by == "attacker" else whole.where("train")
    if wanted.by == "attacker":
        split[np.isin(split, (TRAIN, VALIDATION))] = UNUSED
        split[source] = VALIDATION
    else:
        split[source] = UNUSED
    split[_drawn(whole, source, wanted, wanted.share)] = TRAIN
    return split, population


def _drawn(
    whole: Labelled, source: NDArray[np.int64], wanted: Composition, share: float
) -> NDArray[np.int64]:
    """As many samples of ``source`` as wanted, ``share`` of them with the class."""
    label = whole.labels[wanted.attribute]
    known = source[label[source] >= 0]
    having = label == whole.attributes[wanted.attribute].classes.index(wanted.having)
    order = by_groups(known, whole.group, stream(wanted.seed, "composition"))
    with_it = round(share * wanted.samples)
    sides = order[having[order]][:with_it], order[~having[order]][: wanted.samples - with_it]
    if sum(map(len, sides)) < wanted.samples:
        raise InvalidInput(
            f"{wanted.samples} samples, {share:g} of them with {wanted.attribute} {wanted.having!r}, cannot"
            f" be drawn: too few of one side are among the {len(known)} samples of {wanted.by}s",
            hint="lower 'samples', or raise 'auxiliary', of which half is for an attacker's models",
        )
    return np.concatenate(sides)
