"""Data sets in a folder of ``LEAKRANGE_DATA``: packed, or as their authors publish them."""

from __future__ import annotations

import os
from abc import abstractmethod
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

from leakrange.data.catalogue import Content, GivenSet
from leakrange.wire.errors import DataUnavailable

__all__ = ["PlacedSet"]


class PlacedSet(GivenSet):
    """A set whose files lie in ``$LEAKRANGE_DATA/<folder>``, in one of several layouts.

    Every layout gives the same samples in the same order, so the fingerprint does not show which was read.
    """

    folder: ClassVar[str]
    layouts: ClassVar[tuple[tuple[str, ...], ...]]
    """The layouts of the set's files, each a tuple of file or folder names. The first complete one is
    read."""

    @classmethod
    def available(cls) -> str | None:
        """None where the files of a layout exist (whether they are whole shows when they are loaded)."""
        if cls._present() is not None:
            return None
        files = " or ".join(" and ".join(f"{cls.folder}/{name}" for name in names) for names in cls.layouts)
        root = os.environ.get("LEAKRANGE_DATA")
        if not root:
            return f"set LEAKRANGE_DATA to the folder that holds {files}"
        return (
            f"there is no {files} in {root}; put it there, or point LEAKRANGE_DATA at the folder that has it"
        )

    @classmethod
    def content(cls) -> Content:
        """The samples, cached until the files change."""
        paths = cls.files()
        status = [path.stat() for path in paths]
        return _opened(cls, paths, tuple((each.st_mtime_ns, each.st_size) for each in status))

    @classmethod
    def files(cls) -> tuple[Path, ...]:
        """The files to read. Raises `DataUnavailable` where no layout is complete."""
        paths = cls._present()
        if paths is None:
            raise DataUnavailable(f"data set {cls.name!r} cannot be loaded: {cls.available()}")
        return paths

    @classmethod
    def _present(cls) -> tuple[Path, ...] | None:
        root = os.environ.get("LEAKRANGE_DATA")
        if not root:
            return None
        candidates = (tuple(Path(root) / cls.folder / name for name in names) for names in cls.layouts)
        return next((paths for paths in candidates if all(path.exists() for path in paths)), None)

    @classmethod
    @abstractmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The samples in these files of one layout. Raises `DataUnavailable` for a file that is broken or of
        another layout."""


@lru_cache(maxsize=2)
def _opened(entry: type[PlacedSet], paths: tuple[Path, ...], _state: tuple[tuple[int, int], ...]) -> Content:
    return entry.opened(paths)
