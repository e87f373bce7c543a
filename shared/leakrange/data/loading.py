"""From a data specification to labelled images: read, split, limit, resize, fingerprint, remember."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from leakrange.data.catalogue import Content, DataSet, datasets
from leakrange.data.crowd import crowd_parts
from leakrange.data.imageset import POOL, Attribute, ImageSet
from leakrange.data.splits import HELD_OUT, draw_members, draw_pool, first_of_each, partition, whole_groups
from leakrange.registry import UnknownName
from leakrange.wire.errors import DataUnavailable, InvalidInput
from leakrange.wire.recipe import Crowd, DataSpec, Subset

__all__ = ["fingerprint", "load"]

REMEMBERED = 4
"""Loaded sets kept in a process; a worker rarely alternates between more."""

_lock = RLock()


def load(spec: DataSpec) -> ImageSet:
    """The images, labels and split of ``spec``; the same object again while the process remembers it.

    Arrays are read-only, since all callers share them: copy before changing (``torch.from_numpy`` wants a
    copy, too). Sizes other than the set's own are made with Pillow (bilinear when enlarging, Lanczos when
    shrinking); procedural sets draw at the size asked for. ``limit`` keeps that many random images of every
    split. Splits never cut a group of near-copies; see `leakrange.data.splits.partition`. With a ``subset``
    only its pool is left of the training images: its members are trained on, the others held out. With a
    ``crowd`` the set has the parts of `leakrange.data.crowd.crowd_parts` as well.

    Raises `InvalidInput` for an unknown name, a ``count`` for a set that is given, a ``size`` for a set that
    has but one, shares that leave nothing to train on, a pool larger than what there is to draw from, or a
    crowd that its people do not make; `DataUnavailable` where the set's file is missing or broken.
    """
    entry = _entry(spec.name)
    if spec.count is not None and not entry.procedural():
        raise InvalidInput(
            f"data set {spec.name!r} is given, its number of images cannot be chosen",
            hint="leave out 'count'; 'limit' keeps fewer images of each split",
        )
    if spec.size is not None and entry.fixed_size:
        raise InvalidInput(
            f"data set {spec.name!r} has no other size than {entry.size}", hint="leave out 'size'"
        )
    # The folder belongs to the key: a process that is pointed elsewhere must not be given the old images.
    with _lock:
        return _load(spec, os.environ.get("LEAKRANGE_DATA", ""), os.environ.get("LEAKRANGE_CACHE", ""))


def fingerprint(spec: DataSpec) -> str:
    """SHA-256 (hex) of everything that `load` gives for ``spec``; loads it if it is not in memory. Raises
    as `load`."""
    return load(spec).fingerprint


def _entry(name: str) -> type[DataSet]:
    try:
        return datasets[name]
    except UnknownName as unknown:
        raise InvalidInput(str(unknown), allowed=list(unknown.allowed)) from unknown


@lru_cache(maxsize=REMEMBERED)
def _load(spec: DataSpec, _data_root: str, _cache_root: str) -> ImageSet:
    if spec.crowd is not None:
        everyone = _load(spec.model_copy(update={"crowd": None}), _data_root, _cache_root)
        return _crowded(everyone, spec.crowd, spec.seed)
    if spec.subset is not None:
        # All subsets of a set are cut from the one that is remembered, which is read and resized once.
        whole = _load(spec.model_copy(update={"subset": None}), _data_root, _cache_root)
        return _subset(whole, spec.subset, spec.seed)
    entry = _entry(spec.name)
    reason = entry.available()
    if reason is not None:
        raise DataUnavailable(f"data set {spec.name!r} cannot be loaded: {reason}")
    content = entry.read(spec)
    _check(entry, content)
    group = np.arange(len(content.images)) if content.group is None else content.group
    split = partition(group, content.official, spec.validation, spec.auxiliary, spec.seed)
    notes = entry.notes + content.notes + _moved(content, group)
    images, labels = content.images, dict(content.labels)
    if spec.limit is not None:
        keep = first_of_each(split, spec.limit, spec.seed)
        images, split, group = images[keep], split[keep], group[keep]
        labels = {name: values[keep] for name, values in labels.items()}
    images = resized(images, spec.size or entry.size)
    _freeze(images, split, group, *labels.values())
    return ImageSet(
        name=spec.name,
        images=images,
        attributes=entry.attributes,
        labels=labels,
        split=split,
        group=group,
        fingerprint=_fingerprint(spec.name, images, entry.attributes, labels, split, group),
        notes=notes,
    )


def _subset(whole: ImageSet, subset: Subset, seed: int) -> ImageSet:
    """``whole`` with the subset's pool for its training images, of which the members stay such."""
    keep = draw_pool(whole.split, whole.group, subset.pool, seed)
    images, split, group = whole.images[keep], whole.split[keep], whole.group[keep]
    labels = {name: values[keep] for name, values in whole.labels.items()}
    cut = replace(whole, images=images, labels=labels, split=split, group=group)
    pool = cut.where(POOL)
    split[pool[~draw_members(group[pool], subset.share, subset.seed, rest=subset.rest)]] = HELD_OUT
    _freeze(images, split, group, *labels.values())
    return replace(cut, fingerprint=_fingerprint(whole.name, images, whole.attributes, labels, split, group))


def _crowded(whole: ImageSet, crowd: Crowd, seed: int) -> ImageSet:
    """``whole`` with the parts that its people play for a face recognition service."""
    parts = crowd_parts(whole, crowd, seed)
    _freeze(*parts.values())
    sums = hashlib.sha256(whole.fingerprint.encode())
    for name in sorted(parts):
        sums.update(name.encode())
        sums.update(np.ascontiguousarray(parts[name], dtype="<i8").data)
    return replace(whole, parts=parts, fingerprint=sums.hexdigest())


def _check(entry: type[DataSet], content: Content) -> None:
    """A set must give what its entry declares; anything else is a broken file (or a bug in the set's
    module)."""
    n = len(content.images)
    if n == 0:
        raise DataUnavailable(f"data set {entry.name!r} holds no images", hint="pack or download it again")
    if set(content.labels) != set(entry.attributes):
        raise DataUnavailable(
            f"data set {entry.name!r} lacks labels: {set(entry.attributes) ^ set(content.labels)}"
        )
    for name, values in (("group", content.group), ("official split", content.official)):
        if values is not None and values.shape != (n,):
            raise DataUnavailable(f"data set {entry.name!r}: {name} must have {n} values, one an image")
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


def _moved(content: Content, group: NDArray[np.int64]) -> tuple[str, ...]:
    if content.official is None:
        return ()
    moved = int((whole_groups(content.official, group) != content.official).sum())
    if not moved:
        return ()
    return (f"official training images that copy test or validation images were put with those: {moved}",)


def resized(images: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """uint8 (N, size, size, C) from uint8 (N, H, W, C), H = W not required; the same array if it fits
    already."""
    n, height, width, channels = images.shape
    if (height, width) == (size, size):
        return images
    how = Image.Resampling.BILINEAR if size >= max(height, width) else Image.Resampling.LANCZOS
    out = np.empty((n, size, size, channels), dtype=np.uint8)
    for i, image in enumerate(images):
        picture = Image.fromarray(image[..., 0] if channels == 1 else image)
        out[i] = np.asarray(picture.resize((size, size), how)).reshape(size, size, channels)
    return out


def _fingerprint(
    name: str,
    images: NDArray[np.uint8],
    attributes: Mapping[str, Attribute],
    labels: Mapping[str, NDArray[np.int64]],
    split: NDArray[np.uint8],
    group: NDArray[np.int64],
) -> str:
    sums = hashlib.sha256(f"leakrange image set 1\n{name}\n{images.shape}\n".encode())
    sums.update(np.ascontiguousarray(images).data)
    for attribute in sorted(labels):
        sums.update(f"{attribute}\0{attributes[attribute].classes}\n".encode())
        sums.update(np.ascontiguousarray(labels[attribute], dtype="<i8").data)
    sums.update(np.ascontiguousarray(split).data)
    sums.update(np.ascontiguousarray(group, dtype="<i8").data)
    return sums.hexdigest()
