"""Artifacts and releases as files under content-addressed names, written atomically. Needs no database."""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import orjson
import structlog
from numpy.typing import NDArray

from leakrange.wire.disk import read_regular, room_in
from leakrange.wire.errors import DamagedFile, InvalidInput, NotFound
from leakrange.wire.stored import UNREADABLE, stored_array, stored_arrays

__all__ = [
    "FolderStore",
    "get_array",
    "get_arrays",
    "get_record",
    "joined",
    "put_array",
    "put_arrays",
    "whole",
]

log = structlog.get_logger("leakrange.store.files")
T = TypeVar("T")

_SUFFIX = r"(\.[a-z0-9]{1,16}){0,2}"
_NAME = re.compile(rf"[0-9a-f]{{16,64}}{_SUFFIX}(/[a-z0-9][a-z0-9_-]{{0,63}}{_SUFFIX})?")


class FolderStore:
    """Bytes by name, as files in a folder that several processes may share; a reader never sees half a file.

    A name is a hex digest with an optional suffix, or a file inside a folder so named:
    ``<digest>/model.safetensors``. Content under a name is always the same, so the last of several writers
    may win.
    """

    def __init__(self, root: str | Path) -> None:
        self.root = Path(root)

    def path(self, name: str) -> Path:
        """Return the path of ``name``, stored or not; raises `InvalidInput` for a name that is not a digest
        (with suffix, with file)."""
        if _NAME.fullmatch(name) is None:
            raise InvalidInput(
                f"{name[:80]!r} names no stored file", hint="names are hex digests, e.g. '<digest>.npy'"
            )
        return self.root / name

    def put(self, name: str, content: bytes) -> None:
        """Write to a temporary file beside it, force it to the disk, then rename: whole or not at all. Raises
        `StorageFull`."""
        target = self.path(name)
        temporary = target.parent / f".{target.name}.{secrets.token_hex(6)}"
        with room_in(self.root):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with temporary.open("xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(target)
            finally:
                temporary.unlink(missing_ok=True)
            _sync_folder(target.parent)

    def get(self, name: str) -> bytes:
        """Return the content; raises `NotFound`, or `DamagedFile` for a symbolic link or anything else that
        is no file. Such a thing is set aside unread with its folder."""
        self.path(name)
        try:
            return read_regular(self.root, name)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise NotFound(f"nothing is stored under {name!r}") from error
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EINVAL):
                raise
            raise self.damaged(name.partition("/")[0]) from error

    def exists(self, name: str) -> bool:
        """Return whether a complete file or folder is stored under ``name``."""
        return self.path(name).exists()

    def damaged(self, name: str) -> DamagedFile:
        """Rename the file or folder to ``….damaged``; returns the error that says so. If it cannot be
        renamed, the error asks to delete it."""
        path = self.path(name)
        aside = path.with_name(f"{path.name}.damaged")
        try:
            if aside.is_dir():
                shutil.rmtree(aside)
            path.replace(aside)
        except FileNotFoundError:
            return DamagedFile(f"{path} was damaged, and is gone")
        except OSError:
            return DamagedFile(f"{path} is damaged", hint=f"delete {path}, then run the scenario again")
        return DamagedFile(f"{path} is damaged, and was set aside as {aside.name}")


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def put_array(store: FolderStore, name: str, array: NDArray[Any]) -> None:
    """Store one array of numbers as npy."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
    store.put(name, stream.getvalue())


def get_array(store: FolderStore, name: str) -> NDArray[Any]:
    """Return the array; raises `NotFound`, or `DamagedFile` if the content is no npy of numbers, which is
    then set aside (nothing is unpickled), or `MemoryError` if an undamaged one does not fit in memory."""
    return _read(store, name, stored_array)


def _read(store: FolderStore, name: str, read: Callable[[bytes], T]) -> T:
    content = store.get(name)
    try:
        return read(content)
    except UNREADABLE as error:
        raise store.damaged(name) from error


def joined(store: FolderStore, chunks: list[list[str]]) -> NDArray[np.float32]:
    """Join chunks in order, each the mean of its draws: float32 (samples, ...). Raises `NotFound` if one is
    missing, `InvalidInput` if they do not fit together."""
    parts = []
    for draws in chunks:
        arrays = [get_array(store, f"{identity}.npy") for identity in draws]
        if not arrays or len({array.shape for array in arrays}) != 1:
            raise InvalidInput("the draws of a chunk must be at least one, and of one shape")
        parts.append(np.mean(arrays, axis=0, dtype=np.float64).astype(np.float32))
    if len({part.shape[1:] for part in parts}) != 1:
        raise InvalidInput("the chunks of a release must be at least one, and of one shape")
    return np.concatenate(parts)


def get_record(models: FolderStore, artifact: str) -> dict[str, Any]:
    """Return the record of the training of a model or a defence. Raises `NotFound` if none is stored."""
    record: dict[str, Any] = orjson.loads(models.get(f"{artifact}/training.json"))
    return record


def put_arrays(store: FolderStore, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store named arrays of numbers as one npz."""
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **dict(arrays))
    store.put(name, stream.getvalue())


def get_arrays(store: FolderStore, name: str) -> dict[str, NDArray[Any]]:
    """Return the named arrays; raises `NotFound`, or `DamagedFile` if the content is no npz of numbers, which
    is then set aside (nothing is unpickled)."""
    return _read(store, name, lambda content: stored_arrays(io.BytesIO(content)))


def whole(store: FolderStore, name: str) -> bool:
    """Return whether that npy or npz is stored and can be read. An unreadable one is set aside, so that it is
    made again."""
    if not store.exists(name):
        return False
    try:
        get_arrays(store, name) if name.endswith(".npz") else get_array(store, name)
    except (NotFound, DamagedFile) as error:
        log.warning("a stored file is made again", reason=error.detail)
        return False
    return True
