"""Loading of labelled samples from a data specification: they are read, split, limited, resized and
cached."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from functools import lru_cache
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import DataSet, Outline, datasets
from leakrange.data.composition import composed
from leakrange.data.crowd import crowd_parts, learnt_by_the_public
from leakrange.data.known_members import members_apart
from leakrange.data.samples import POOL, POPULATION, Labelled, Samples
from leakrange.data.splits import (
    HELD_OUT,
    TRAIN,
    UNUSED,
    connected,
    draw_canaries,
    draw_members,
    draw_pool,
    first_of_each,
    partition,
    shuffled,
    stream,
    whole_groups,
)
from leakrange.jobs.recipe import Crowd, DataSpec, Subset
from leakrange.registry import UnknownName
from leakrange.wire.errors import DataUnavailable, InvalidInput
from leakrange.wire.samples import SampleSpec, encodings

__all__ = ["fingerprint", "load", "load_labels"]

REMEMBERED = 4
"""Number of loaded sets cached in a process; a worker rarely alternates between more."""

_lock = RLock()


def load(spec: DataSpec) -> Samples:
    """The samples, labels and split of ``spec``; the same object again while the process caches it.

    Arrays are read-only, since all callers share them: copy before changing (``torch.from_numpy`` wants a
    copy, too). Sizes other than the set's own are made with Pillow (bilinear when enlarging, Lanczos when
    shrinking); procedural sets draw at the size asked for. ``limit`` keeps that many random samples of every
    split. Splits never cut a group of near-copies, nor people that the set leaves undivided; see
    `leakrange.data.splits.partition`. With a ``subset`` only its pool is left of the training samples: its
    members are trained on, the others held out; its canaries have wrong labels. Where the subset's members
    are known, all splits are those of `leakrange.data.known_members.members_apart`, and of a ``composition``
    those of `leakrange.data.composition.composed`. With a ``crowd`` the set has the parts of
    `leakrange.data.crowd.crowd_parts` as well.

    Raises `InvalidInput` for an unknown name, a ``count`` for a given set, a ``size`` for a set that has but
    one, shares that leave nothing to train on, a pool larger than the samples to draw from, or a crowd that
    its people cannot make; `DataUnavailable` where the set's file is missing or broken.
    """
    entry = _checked(spec)
    # The folder and the entry belong to the key: a process that is pointed elsewhere, or where a set was
    # imported again, must not be given the old samples.
    with _lock:
        return _load(spec, entry, os.environ.get("LEAKRANGE_DATA", ""), os.environ.get("LEAKRANGE_CACHE", ""))


def load_labels(spec: DataSpec) -> Labelled:
    """The result of `load` without the values: most sets neither draw nor decode them for this. Raises as
    `load` does."""
    entry = _readable(spec)
    outline = entry.outline(spec)
    _check(entry, outline)
    labelled, _ = _cut(entry, outline, spec)
    if spec.subset is not None or spec.composition is not None:
        labelled, _ = _drawn(labelled, spec)
    if spec.crowd is not None:
        labelled = replace(labelled, parts=crowd_parts(labelled, spec.crowd, spec.seed))
        if spec.crowd.learners == "public":
            labelled = learnt_by_the_public(labelled)
    return labelled


def fingerprint(spec: DataSpec) -> str:
    """SHA-256 (hex) of the whole result of `load` for ``spec``, which is loaded if it is not in memory.
    Raises as `load` does."""
    return load(spec).fingerprint


def _checked(spec: DataSpec) -> type[DataSet]:
    """The set that ``spec`` names. Raises `InvalidInput` where it cannot give the samples that ``spec`` asks
    for."""
    entry = _entry(spec.name)
    if spec.count is not None and not entry.procedural():
        raise InvalidInput(
            f"data set {spec.name!r} is given, its number of samples cannot be chosen",
            hint="leave out 'count'; 'limit' keeps fewer samples of each split",
        )
    entry.sized(spec.size)
    return entry


def _readable(spec: DataSpec) -> type[DataSet]:
    """The set that ``spec`` names. Raises `DataUnavailable` where it cannot be loaded here."""
    entry = _checked(spec)
    reason = entry.available()
    if reason is not None:
        raise DataUnavailable(f"data set {spec.name!r} cannot be loaded: {reason}")
    return entry


def _entry(name: str) -> type[DataSet]:
    try:
        return datasets[name]
    except UnknownName as unknown:
        raise InvalidInput(str(unknown), allowed=list(unknown.allowed)) from unknown


@lru_cache(maxsize=REMEMBERED)
def _load(spec: DataSpec, _set: type[DataSet], _data_root: str, _cache_root: str) -> Samples:
    if spec.crowd is not None:
        everyone = _load(spec.model_copy(update={"crowd": None}), _set, _data_root, _cache_root)
        return _crowded(everyone, spec.crowd, spec.seed)
    if spec.subset is not None or spec.composition is not None:
        # All subsets of a set are cut from the cached one, which is read and resized once.
        undrawn = spec.model_copy(update={"subset": None, "composition": None})
        whole = _load(undrawn, _set, _data_root, _cache_root)
        cut, rows = _drawn(whole, spec)
        return _valued(cut, whole.values[rows], whole.spec, whole.notes)
    entry = _readable(spec)
    content = entry.read(spec)
    _check(entry, content)
    labelled, keep = _cut(entry, content, spec)
    values = content.values if keep is None else content.values[keep]
    sample = entry.sized(spec.size)
    values = encodings[sample.encoding].fitted(values, sample)
    if values.dtype != sample.dtype or values.shape[1:] != sample.shape:
        raise DataUnavailable(
            f"data set {entry.name!r} holds {values.dtype} of shape {values.shape[1:]}, "
            f"not {sample.dtype} of {sample.shape}",
            hint="the file is not of the documented layout: pack or download it again",
        )
    notes = entry.notes + content.notes + _moved(content)
    return _valued(labelled, values, sample, notes)


def _cut(entry: type[DataSet], outline: Outline, spec: DataSpec) -> tuple[Labelled, NDArray[np.intp] | None]:
    """The facts about a set, split and limited, and the indices of the samples left (None: all)."""
    group = np.arange(len(outline)) if outline.group is None else outline.group
    blocks = _blocks(entry, outline, group)
    split = partition(blocks, outline.official, spec.validation, spec.auxiliary, spec.seed)
    whole = Labelled(
        name=spec.name, attributes=entry.attributes, labels=dict(outline.labels), split=split, group=group
    )
    if spec.limit is None:
        return whole, None
    keep = first_of_each(split, spec.limit, spec.seed)
    return _chosen(whole, keep), keep


def _blocks(entry: type[DataSet], outline: Outline, group: NDArray[np.int64]) -> NDArray[np.int64]:
    """Groups that no split may cut: near-copies, and all samples of one person where the set demands it."""
    if not entry.undivided or entry.person is None:
        return group
    return connected(group, outline.labels[entry.person])


def _chosen(whole: Labelled, keep: NDArray[np.intp]) -> Labelled:
    """The facts about some of the samples."""
    return Labelled(
        name=whole.name,
        attributes=whole.attributes,
        labels={name: values[keep] for name, values in whole.labels.items()},
        split=whole.split[keep],
        group=whole.group[keep],
    )


def _drawn(whole: Labelled, spec: DataSpec) -> tuple[Labelled, NDArray[np.intp]]:
    """``whole`` with the training samples of a subset or a composition, and the indices of the samples that
    are left."""
    if spec.subset is not None:
        return _pooled(whole, spec, spec.subset)
    assert spec.composition is not None  # else nothing is drawn
    split, population = composed(whole, spec, spec.composition)
    keep = np.flatnonzero(split != UNUSED)
    cut = replace(_chosen(whole, keep), split=split[keep])
    return replace(cut, parts={POPULATION: np.searchsorted(keep, population)}), keep


def _pooled(whole: Labelled, spec: DataSpec, subset: Subset) -> tuple[Labelled, NDArray[np.intp]]:
    """``whole`` with the subset's pool in place of its training samples, and the indices of the samples that
    are left. The pool's members are training samples, its others held out; the auxiliary samples in random
    order are its `POPULATION`."""
    if subset.members is None:
        keep = draw_pool(whole.split, whole.group, subset.pool, spec.seed)
        cut = _chosen(whole, keep)
    else:
        apart = members_apart(whole, spec, subset)
        keep = np.flatnonzero(apart != UNUSED)
        cut = replace(_chosen(whole, keep), split=apart[keep])
    if subset.members is None or subset.drawn:
        pool = cut.where(POOL)
        drawn = draw_members(cut.group[pool], subset)
        cut.split[pool] = np.where(drawn, TRAIN, HELD_OUT)
        _mislabel(cut, pool[draw_canaries(subset, spec.seed)], spec)
    auxiliary = cut.where("auxiliary")
    population = auxiliary[shuffled(stream(spec.seed, POPULATION), len(auxiliary))]
    return replace(cut, parts={POPULATION: population}), keep


def _mislabel(cut: Labelled, canaries: NDArray[np.int64], spec: DataSpec) -> None:
    """Give these samples wrong classes of all attributes but the person, where they are known."""
    rng = stream(spec.seed, "mislabelled")
    for name, attribute in sorted(cut.attributes.items()):
        moved = 1 + np.floor(rng.random(len(canaries)) * (len(attribute.classes) - 1)).astype(np.int64)
        labels = cut.labels[name]
        if name != datasets[spec.name].person:
            wrong = (labels[canaries] + moved) % len(attribute.classes)
            labels[canaries] = np.where(labels[canaries] < 0, -1, wrong)


def _valued(labelled: Labelled, values: NDArray[Any], spec: SampleSpec, notes: tuple[str, ...]) -> Samples:
    _freeze(values, labelled.split, labelled.group, *labelled.labels.values(), *labelled.parts.values())
    fingerprint = _fingerprint(values, labelled)
    return Samples(**vars(labelled), values=values, spec=spec, fingerprint=fingerprint, notes=notes)


def _crowded(whole: Samples, crowd: Crowd, seed: int) -> Samples:
    """``whole`` with the parts of a crowd: see `leakrange.data.crowd`."""
    parts = crowd_parts(whole, crowd, seed)
    _freeze(*parts.values())
    sums = hashlib.sha256(whole.fingerprint.encode())
    for name in sorted(parts):
        sums.update(name.encode())
        sums.update(np.ascontiguousarray(parts[name], dtype="<i8").data)
    crowded = replace(whole, parts=parts, fingerprint=sums.hexdigest())
    if crowd.learners == "members":
        return crowded
    sums.update(b"public")
    recast = learnt_by_the_public(replace(crowded, fingerprint=sums.hexdigest()))
    _freeze(recast.split, recast.labels["person"])
    return recast


def _check(entry: type[DataSet], content: Outline) -> None:
    """Raise an error unless a set gives the attributes and form that its entry declares. Otherwise its file
    is broken, or its module has a bug."""
    n = len(content)
    if n == 0:
        raise DataUnavailable(f"data set {entry.name!r} holds no samples", hint="pack or download it again")
    if set(content.labels) != set(entry.attributes):
        raise DataUnavailable(
            f"data set {entry.name!r} lacks labels: {set(entry.attributes) ^ set(content.labels)}"
        )
    for name, values in (("group", content.group), ("official split", content.official)):
        if values is not None and values.shape != (n,):
            raise DataUnavailable(f"data set {entry.name!r}: {name} must have {n} values, one a sample")
    for name, values in content.labels.items():
        classes = len(entry.attributes[name].classes)
        if values.shape != (n,) or values.min() < -1 or values.max() >= classes:
            raise DataUnavailable(
                f"data set {entry.name!r}: labels of {name!r} must be {n} numbers from -1 to {classes - 1}",
                hint="the file is not of the documented layout: pack or download it again",
            )


def _freeze(*arrays: NDArray[Any]) -> None:
    for array in arrays:
        array.setflags(write=False)


def _moved(content: Outline) -> tuple[str, ...]:
    if content.official is None or content.group is None:
        return ()
    moved = int((whole_groups(content.official, content.group) != content.official).sum())
    if not moved:
        return ()
    return (f"official training samples that copy test or validation samples were put with those: {moved}",)


def _fingerprint(values: NDArray[Any], labelled: Labelled) -> str:
    sums = hashlib.sha256(f"leakrange image set 1\n{labelled.name}\n{values.shape}\n".encode())
    sums.update(np.ascontiguousarray(values).data)
    for attribute in sorted(labelled.labels):
        sums.update(f"{attribute}\0{labelled.attributes[attribute].classes}\n".encode())
        sums.update(np.ascontiguousarray(labelled.labels[attribute], dtype="<i8").data)
    sums.update(np.ascontiguousarray(labelled.split).data)
    sums.update(np.ascontiguousarray(labelled.group, dtype="<i8").data)
    return sums.hexdigest()
