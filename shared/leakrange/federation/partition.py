"""The partition of samples among devices."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from leakrange.data.splits import shuffled, stream
from leakrange.federation.settings import Federation
from leakrange.wire.errors import InvalidInput

__all__ = ["dirichlet", "iid", "partition"]


def partition(
    federation: Federation, labels: Mapping[str, NDArray[np.int64]], count: int, seed: int
) -> list[NDArray[np.int64]]:
    """The indices (n_i,) of each device's samples among ``count``, ascending; every sample lies on one
    device.

    ``labels`` (count,) by attribute, for a split that depends on one. Raises `InvalidInput` where an
    attribute is missing, or where samples are fewer than devices.
    """
    if count < federation.devices:
        raise InvalidInput(
            f"{federation.devices} devices cannot share {count} training samples", hint="plan fewer devices"
        )
    draw = stream(seed, "devices")
    if federation.split == "iid":
        return iid(count, federation.devices, draw)
    by = federation.split.by
    if by not in labels:
        raise InvalidInput(f"no attribute {by!r} to split by; there are: {', '.join(sorted(labels))}")
    return dirichlet(labels[by], federation.devices, federation.split.alpha, draw)


def iid(count: int, devices: int, draw: np.random.Generator) -> list[NDArray[np.int64]]:
    """Equal parts at random; sizes differ by at most one."""
    parts = np.array_split(shuffled(draw, count), devices)
    return [np.sort(part).astype(np.int64) for part in parts]


def dirichlet(
    labels: NDArray[np.int64], devices: int, alpha: float, draw: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Deal out each class of ``labels`` (N,) by shares that are drawn from Dirichlet(alpha, ..., alpha) (Hsu,
    Qi and Brown 2019). A device that would have no sample gets one of the largest device's."""
    parts: list[list[int]] = [[] for _ in range(devices)]
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        rows = rows[shuffled(draw, len(rows))]
        cuts = np.rint(np.cumsum(draw.dirichlet(np.full(devices, alpha)))[:-1] * len(rows)).astype(np.int64)
        for part, dealt in zip(parts, np.split(rows, cuts), strict=True):
            part.extend(dealt.tolist())
    for part in parts:
        if not part:
            part.append(max(parts, key=len).pop())
    return [np.sort(np.asarray(part, dtype=np.int64)) for part in parts]
