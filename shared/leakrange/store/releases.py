"""Stored releases as a fit reads them, and arrays that many fits share."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.spans import Crafted
from leakrange.jobs.steps.craft import CRAFT
from leakrange.store.files import ObjectStore, get_array, get_arrays, joined, put_arrays
from leakrange.wire.digests import digest
from leakrange.wire.errors import DamagedFile, NotFound

__all__ = ["StoredReleases", "crafted_in"]


def crafted_in(store: ObjectStore) -> Crafted:
    """What reads the samples that were crafted by a job of the fleet from its ``store``."""
    return lambda identity: get_array(store, CRAFT.file(identity))


class StoredReleases:
    """Releases of a ``store``; see `leakrange.attacks.kinds.kind.ReleaseStore`. Shared arrays are made again
    for a fit of other ``versions``."""

    def __init__(self, store: ObjectStore, versions: Mapping[str, int] | None = None) -> None:
        self._store, self._versions = store, dict(versions or {})

    def __call__(self, chunks: list[list[str]], /) -> NDArray[np.float32]:
        """See `joined`."""
        return joined(self._store, chunks)

    def arrays(self, identity: str, /) -> Mapping[str, NDArray[Any]]:
        """The arrays that a step of that identity stored. Raises `NotFound` if there are none."""
        return get_arrays(self._store, f"{identity}.npz")

    def once(
        self, name: str, make: Callable[[], Mapping[str, NDArray[Any]]], /
    ) -> Mapping[str, NDArray[Any]]:
        """Return the arrays under that name, and make them if they are missing or damaged. Of several
        processes that need them one makes them; if it dies, another does."""
        if self._versions:
            name = digest([name, self._versions])
        file = f"{name}.npz"
        try:
            return get_arrays(self._store, file)
        except (NotFound, DamagedFile):
            with _alone(self._store.lock(name)):
                try:
                    return get_arrays(self._store, file)
                except (NotFound, DamagedFile):
                    put_arrays(self._store, file, make())
                    return get_arrays(self._store, file)


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let one process at a time in; a process that dies frees its lock."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
