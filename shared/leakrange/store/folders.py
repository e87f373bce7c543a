"""Folders of models, ``<digest>/…``: loaders read them by their paths, so those of a bucket are first fetched
into a folder of this machine, where they stay for the next time."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

import structlog

from leakrange.providers.artifact_files import RECORD, find_whole
from leakrange.store.files import FolderStore, ObjectStore
from leakrange.wire.disk import room_in
from leakrange.wire.errors import NotFound

__all__ = ["fetched", "publish", "whole_folder"]

log = structlog.get_logger("leakrange.store.folders")
LAST = (RECORD, "card.yaml")
"""The files that name the others of a trained model's folder, and of a model file's."""
MOST_BYTES = 2**34
"""The bytes of fetched folders that are kept; beyond, those go that were not used for longest."""
IN_USE = 600.0
"""Seconds after its last use in which a folder is not removed: somebody may be reading it."""


def fetched(store: ObjectStore, digest: str) -> Path:
    """The path of a model's folder, fetched if the store has one; nothing is there otherwise. Raises
    `InvalidInput` for what is no digest, `StorageFull`, and `Unavailable`."""
    if isinstance(store, FolderStore):
        return store.path(digest)
    folder = store.local / digest
    if folder.is_dir():
        os.utime(folder)
        return folder
    names = store.names(digest)
    if any(Path(name).name in LAST for name in names):
        with room_in(store.local):
            _fetch(store, names, folder)
        _make_room(store.local, MOST_BYTES)
    return folder


def _fetch(store: ObjectStore, names: list[str], folder: Path) -> None:
    store.local.mkdir(parents=True, exist_ok=True)
    staging = Path(tempfile.mkdtemp(prefix=f".{folder.name[:12]}-", dir=store.local))
    try:
        for name in names:
            (staging / Path(name).name).write_bytes(store.read(name))
        staging.rename(folder)
    except NotFound:
        log.warning("set aside while it was fetched", model=folder.name)
    except OSError:
        if not folder.is_dir():  # another process has fetched it
            raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def whole_folder(store: ObjectStore, digest: str, *, set_aside: bool = False) -> Path | None:
    """A model's folder with all of its files intact; None where there is none, or a damaged one; with
    ``set_aside`` that is renamed, so that it is made again."""

    def damaged(name: str) -> None:
        if set_aside:
            log.warning("set aside", reason=store.damaged(name).detail)

    folder = fetched(store, digest)
    if isinstance(store, FolderStore):
        return find_whole(store.root, digest, damaged)
    if (there := find_whole(store.local, digest)) is None and folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)  # maybe it is this copy alone that is damaged
        fetched(store, digest)
        there = find_whole(store.local, digest, damaged)
        if there is None:
            shutil.rmtree(folder, ignore_errors=True)
    return there


def publish(store: ObjectStore, folder: Path) -> None:
    """Store a model's folder that was written below ``store.local``. What names its files is stored last:
    without it the folder is not there yet."""
    if isinstance(store, FolderStore):
        return
    stored = store.names(folder.name)
    if any(Path(name).name in LAST for name in stored):
        return
    store.remove(stored)  # of somebody who was killed in the middle, maybe with other numbers
    for file in sorted(folder.iterdir(), key=lambda file: file.name in LAST):
        store.put(f"{folder.name}/{file.name}", file.read_bytes())


def _make_room(root: Path, most: int) -> None:
    folders = sorted((each for each in root.iterdir() if each.name[0] != "."), key=_used)
    sizes = {each: sum(file.stat().st_size for file in each.iterdir()) for each in folders}
    total = sum(sizes.values())
    for folder in folders:
        if total <= most or time.time() - _used(folder) < IN_USE:
            return
        total -= sizes[folder]
        shutil.rmtree(folder, ignore_errors=True)


def _used(folder: Path) -> float:
    return folder.stat().st_mtime
