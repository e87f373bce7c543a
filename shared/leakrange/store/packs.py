"""Many small arrays in one object: a pack.

A pack ``packs/<digest>.npz`` is an uncompressed npz of arrays by identity, which `numpy.load` opens as well.
Beside it, ``packs/<digest>.ids`` holds the identities alone, 32 bytes each, and is written last: a pack is
there when its identities are. Both are named by the digest of what they hold, and never change.
"""

from __future__ import annotations

import io
import threading
import time
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping

import structlog

from leakrange.wire.digests import digest
from leakrange.wire.errors import DamagedFile, NotFound

__all__ = ["PACKS", "Packs", "held", "written"]

log = structlog.get_logger("leakrange.store.packs")
PACKS = "packs"
"""The folder of packs in a store."""
KEPT = 2
"""The number of packs that a process keeps in memory, of at most 32 MiB each: who reads a probe reads its
chunks in the order in which they were packed."""
LOOK_EVERY = 1.0
"""Seconds for which it is believed that there are no new packs, where a mistake only costs work."""
UNREADABLE = (zipfile.BadZipFile, zlib.error, KeyError, EOFError, ValueError, NotImplementedError)


def written(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """The objects of a pack of npy ``contents`` by identity (64 hex digits), in the order in which to store
    them."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for identity, content in contents.items():
            # a fixed date, so that the same contents make the same pack
            archive.writestr(zipfile.ZipInfo(f"{identity}.npy"), content)
    name = f"{PACKS}/{digest(list(contents))}"
    return {f"{name}.npz": stream.getvalue(), f"{name}.ids": b"".join(map(bytes.fromhex, contents))}


def held(ids: bytes) -> set[str]:
    """The identities in the ``ids`` of a pack."""
    return {key.hex() for key in _keys(ids)}


def _keys(ids: bytes) -> Iterator[bytes]:
    return (ids[at : at + 32] for at in range(0, len(ids), 32))


class Packs:
    """The packs of one store: ``read`` gives the content of an object, ``listed`` the names of all packs'
    objects. Both raise what the store raises."""

    def __init__(self, read: Callable[[str], bytes], listed: Callable[[], list[str]]) -> None:
        self._read, self._listed = read, listed
        self._place: dict[bytes, str] = {}
        self._known: set[str] = set()
        self._looked = 0.0
        self._open: OrderedDict[str, zipfile.ZipFile] = OrderedDict()
        self._lock = threading.RLock()

    def holds(self, identity: str, *, look: bool = False) -> bool:
        """Whether a pack holds the array of that identity. A pack that another process has written within
        the last second is seen for certain only with ``look``."""
        try:
            key = bytes.fromhex(identity)
        except ValueError:
            return False
        with self._lock:
            if key not in self._place and (look or time.monotonic() - self._looked > LOOK_EVERY):
                self.look()
            return key in self._place

    def look(self) -> None:
        """Learn of new packs, and forget those that are gone."""
        with self._lock:
            there = {name for name in self._listed() if name.endswith(".ids")}
            if gone := self._known - there:
                self._known -= gone
                self._place = {key: name for key, name in self._place.items() if name in self._known}
            for name in there - self._known:
                try:
                    content = self._read(name)
                except (NotFound, DamagedFile):
                    continue
                self._place.update(dict.fromkeys(_keys(content), name))
                self._known.add(name)
            self._looked = time.monotonic()

    def get(self, identity: str) -> bytes | None:
        """The npy content of that identity, which a pack `holds`; None where its pack cannot be read."""
        with self._lock:
            name = self._place[bytes.fromhex(identity)].replace(".ids", ".npz")
            try:
                if name not in self._open:
                    self._open[name] = zipfile.ZipFile(io.BytesIO(self._read(name)))
                    while len(self._open) > KEPT:
                        self._open.popitem(last=False)
                self._open.move_to_end(name)
                archive = self._open[name]
                entry = archive.getinfo(f"{identity}.npy")
                if entry.compress_type != zipfile.ZIP_STORED:  # we write no other, and it could be a bomb
                    raise zipfile.BadZipFile("an entry is compressed")
                return archive.read(entry)
            except (NotFound, DamagedFile, *UNREADABLE) as error:
                log.warning("an array cannot be read from its pack", pack=name, reason=str(error))
                return None
