"""Artifacts and releases as objects under content-addressed names, each written whole or not at all. Needs no
database.

A store is a folder, or a bucket of an S3 server (`leakrange.store.buckets`): `leakrange.store.places` opens
either by its address.
"""

from __future__ import annotations

import errno
import io
import os
import re
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import orjson
import structlog
from numpy.typing import NDArray

from leakrange.store.packs import PACKS, Packs, written
from leakrange.wire.disk import read_regular, room_in
from leakrange.wire.errors import DamagedFile, InvalidInput, NotFound
from leakrange.wire.stored import UNREADABLE, stored_array, stored_arrays

__all__ = [
    "FolderStore",
    "ObjectStore",
    "StoredObject",
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
_NAME = re.compile(rf"{PACKS}|({PACKS}/)?[0-9a-f]{{16,64}}{_SUFFIX}(/[a-z0-9][a-z0-9_-]{{0,63}}{_SUFFIX})?")
FEWEST = 16
"""The fewest arrays that are put into a pack."""
MOST, MOST_BYTES = 4096, 2**25
"""The arrays, or bytes, with which a pack is full."""
READERS = 16
"""The number of arrays that are read at once to be packed."""


class StoredObject(NamedTuple):
    """What a list of a store says of an object: when it was ``written``, in seconds since 1970, and its
    ``size`` in bytes."""

    name: str
    written: float
    size: int


class ObjectStore(ABC):
    """Bytes by name, which several processes share; a reader never sees half an object.

    A name is a hex digest with an optional suffix, or a file inside a folder so named:
    ``<digest>/model.safetensors``. Content under a name is always the same, so it makes no difference which
    of several writers is first. Every method raises `InvalidInput` for any other name, and `Unavailable`
    where the store does not answer.
    """

    local: Path
    """The folder in which folders of models are written and read: see `leakrange.store.folders`."""

    def __init__(self) -> None:
        self._packs = Packs(self.read, lambda: self.names(PACKS))

    def get(self, name: str) -> bytes:
        """Return the content, from a pack where it was packed; raises `NotFound`, or `DamagedFile`."""
        identity = name.removesuffix(".npy")
        if identity == name:
            return self.read(name)
        if self._packs.holds(identity) and (content := self._packs.get(identity)) is not None:
            return content
        try:
            return self.read(name)
        except NotFound:
            # packed and removed since
            if self._packs.holds(identity, look=True) and (content := self._packs.get(identity)) is not None:
                return content
            raise

    def exists(self, name: str) -> bool:
        """Return whether a complete object, or a folder, is stored under ``name``, or an array in a pack."""
        identity = name.removesuffix(".npy")
        return (identity != name and self._packs.holds(identity)) or self.there(name)

    def pack(self, identities: Iterable[str]) -> int:
        """Put the stored arrays of these identities (64 hex digits) into few objects, and remove them singly.
        Returns how many were packed. Fewer than `FEWEST` are left as they are, and so is what cannot be read.

        A process that ends in the middle leaves each array singly, in a pack, or in both.
        """
        self._packs.look()
        single = [each for each in dict.fromkeys(identities) if not self._packs.holds(each)]
        count, group = 0, dict[str, bytes]()
        with ThreadPoolExecutor(READERS) as readers:  # an object of S3 takes milliseconds
            for start in range(0, len(single), READERS):
                some = single[start : start + READERS]
                contents = readers.map(self._single, some)
                group |= {name: each for name, each in zip(some, contents, strict=True) if each}
                full = len(group) >= MOST or sum(map(len, group.values())) > MOST_BYTES
                if (full or start + READERS >= len(single)) and len(group) >= FEWEST:
                    self._pack(group)
                    count, group = count + len(group), {}
        return count

    def _single(self, identity: str) -> bytes:
        """The content of an array; empty where it cannot be read."""
        try:
            return self.read(f"{identity}.npy")
        except (NotFound, DamagedFile):
            return b""

    def _pack(self, group: Mapping[str, bytes]) -> None:
        for name, content in written(group).items():
            self.put(name, content)
        self._packs.look()
        self.remove(f"{identity}.npy" for identity in group)

    @abstractmethod
    def put(self, name: str, content: bytes) -> None:
        """Store the content, durably. Raises `StorageFull`."""

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Return the content of the object of that name; raises `NotFound`, or `DamagedFile`."""

    @abstractmethod
    def there(self, name: str) -> bool:
        """Return whether an object of that name, or a folder, is stored."""

    @abstractmethod
    def remove(self, names: Iterable[str]) -> None:
        """Remove these objects; those that are not there are left out."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """The names of all objects in a folder, ``<digest>/…``; none where there is no such folder."""

    @abstractmethod
    def objects(self) -> Iterator[StoredObject]:
        """All objects that lie in no folder, and those of packs."""

    @abstractmethod
    def damaged(self, name: str) -> DamagedFile:
        """Rename the object or folder to ``….damaged``; returns the error that says so. If it cannot be
        renamed, the error asks to delete it."""

    @abstractmethod
    def lock(self, name: str) -> Path:
        """The file by which processes of one machine agree on who makes what has that digest."""

    @abstractmethod
    def ping(self) -> None:
        """Raise `OSError` or `LeakrangeError` where the store cannot be reached."""


def checked(name: str) -> str:
    """Return ``name``; raises `InvalidInput` for a name that is not a digest (with suffix, with file)."""
    if _NAME.fullmatch(name) is None:
        raise InvalidInput(
            f"{name[:80]!r} names no stored file", hint="names are hex digests, e.g. '<digest>.npy'"
        )
    return name


class FolderStore(ObjectStore):
    """Objects as files in a folder."""

    def __init__(self, root: str | Path) -> None:
        super().__init__()
        self.root = self.local = Path(root)

    def path(self, name: str) -> Path:
        """Return the path of ``name``, stored or not."""
        return self.root / checked(name)

    def put(self, name: str, content: bytes) -> None:
        """Write to a temporary file beside it, force it to the disk, then rename."""
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

    def read(self, name: str) -> bytes:
        """See `ObjectStore.read`. A symbolic link or anything else that is no file is set aside unread with
        its folder."""
        checked(name)
        try:
            return read_regular(self.root, name)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
            raise NotFound(f"nothing is stored under {name!r}") from error
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.EINVAL):
                raise
            raise self.damaged(name.partition("/")[0]) from error

    def there(self, name: str) -> bool:
        """See `ObjectStore.there`."""
        return self.path(name).exists()

    def remove(self, names: Iterable[str]) -> None:
        """See `ObjectStore.remove`."""
        for name in names:
            self.path(name).unlink(missing_ok=True)

    def names(self, folder: str) -> list[str]:
        """See `ObjectStore.names`."""
        with suppress(FileNotFoundError, NotADirectoryError):
            return [f"{folder}/{file}" for file in os.listdir(self.path(folder)) if not file.startswith(".")]
        return []

    def objects(self) -> Iterator[StoredObject]:
        """See `ObjectStore.objects`."""
        for folder, prefix in ((self.root, ""), (self.root / PACKS, f"{PACKS}/")):
            with suppress(FileNotFoundError), os.scandir(folder) as entries:
                for entry in entries:
                    if _NAME.fullmatch(f"{prefix}{entry.name}") and entry.is_file(follow_symlinks=False):
                        yield StoredObject(
                            f"{prefix}{entry.name}", entry.stat().st_mtime, entry.stat().st_size
                        )

    def damaged(self, name: str) -> DamagedFile:
        """See `ObjectStore.damaged`."""
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

    def lock(self, name: str) -> Path:
        """See `ObjectStore.lock`."""
        path = self.path(name)
        return path.with_name(f".{path.name}.lock")

    def ping(self) -> None:
        """See `ObjectStore.ping`."""
        os.listdir(self.root)


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def put_array(store: ObjectStore, name: str, array: NDArray[Any]) -> None:
    """Store one array of numbers as npy."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
    store.put(name, stream.getvalue())


def get_array(store: ObjectStore, name: str) -> NDArray[Any]:
    """Return the array; raises `NotFound`, or `DamagedFile` if the content is no npy of numbers, which is
    then set aside (nothing is unpickled), or `MemoryError` if an undamaged one does not fit in memory."""
    return _read(store, name, stored_array)


def _read(store: ObjectStore, name: str, read: Callable[[bytes], T]) -> T:
    content = store.get(name)
    try:
        return read(content)
    except UNREADABLE as error:
        raise store.damaged(name) from error


def joined(store: ObjectStore, chunks: list[list[str]]) -> NDArray[np.float32]:
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


def get_record(models: ObjectStore, artifact: str) -> dict[str, Any]:
    """Return the record of the training of a model or a defence. Raises `NotFound` if none is stored."""
    record: dict[str, Any] = orjson.loads(models.get(f"{artifact}/training.json"))
    return record


def put_arrays(store: ObjectStore, name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Store named arrays of numbers as one npz."""
    stream = io.BytesIO()
    np.savez_compressed(stream, allow_pickle=False, **dict(arrays))
    store.put(name, stream.getvalue())


def get_arrays(store: ObjectStore, name: str) -> dict[str, NDArray[Any]]:
    """Return the named arrays; raises `NotFound`, or `DamagedFile` if the content is no npz of numbers, which
    is then set aside (nothing is unpickled)."""
    return _read(store, name, lambda content: stored_arrays(io.BytesIO(content)))


def whole(store: ObjectStore, name: str) -> bool:
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
