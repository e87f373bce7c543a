"""Imported sets on disk: written whole or not at all, and removed."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import time
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.importing.prepared import Prepared
from leakrange.data.sets.imported import (
    DESCRIPTION,
    FOLDER,
    NAME,
    SAMPLES,
    Described,
    Description,
    ImportedSet,
    label,
)
from leakrange.wire.disk import room_in
from leakrange.wire.errors import Conflict, InvalidInput, NotFound

__all__ = ["free_name", "remove_set", "staged", "write_set"]

UNFINISHED = ".unfinished-"
ABANDONED = 24 * 3600
"""Seconds after which an import is taken for killed."""


def free_name(name: str) -> Path:
    """The folder that a set of this name will have. Raises `InvalidInput` for what is no name, or where
    LEAKRANGE_DATA names no folder; `Conflict` if the name is taken."""
    if not re.fullmatch(NAME, name):
        raise InvalidInput(
            f"{name[:80]!r} is no name for a data set",
            hint="small letters, digits, - and _, a letter first, at most 63 characters",
        )
    folder = _root() / name
    entry = datasets.get(name)
    if folder.exists() or (entry is not None and issubclass(entry, ImportedSet)):
        raise Conflict(
            f"there is an imported data set {name!r} already",
            hint=f"choose another name, or first: leakrange data remove {name}",
        )
    if entry is not None:
        raise Conflict(f"{name!r} is a built-in data set", hint="choose another name")
    return folder


@contextmanager
def staged() -> Iterator[Path]:
    """A folder beside the imported sets that no one else sees, and that is gone afterwards; those that a
    killed import left are deleted. Raises `InvalidInput` where it cannot be made."""
    root = _root()
    try:
        root.mkdir(parents=True, exist_ok=True)
        _sweep(root)
        folder = tempfile.TemporaryDirectory(dir=root, prefix=UNFINISHED)
    except OSError as error:
        raise InvalidInput(
            f"nothing can be written to {root}: {error.strerror}",
            hint="point LEAKRANGE_DATA at a folder of yours",
        ) from error
    with folder as name:
        yield Path(name)


def write_set(name: str, source: str, prepared: Prepared, scratch: Path) -> Description:
    """Write a set below the folder ``scratch`` of `staged`, then move it to its place at once. Raises
    `Conflict` if the name was taken meanwhile, and `StorageFull`."""
    place = free_name(name)
    folder = scratch / name
    with room_in(folder):
        folder.mkdir()
        digest = _pack(folder / SAMPLES, prepared)
        description = _description(name, source, prepared, digest)
        (folder / DESCRIPTION).write_text(description.model_dump_json(indent=1), encoding="utf-8")
    try:
        os.rename(folder, place)
    except OSError as error:
        free_name(name)
        raise InvalidInput(f"{place} cannot be written: {error.strerror}") from error
    return description


def remove_set(name: str) -> None:
    """Delete an imported set, a broken one too. Raises `NotFound` where there is none, `InvalidInput` where
    it cannot be deleted."""
    folder = _root() / name
    if not re.fullmatch(NAME, name) or not folder.is_dir() or folder.is_symlink():
        built_in = " (it is built in)" if name in datasets else ""
        raise NotFound(f"there is no imported data set {name!r}{built_in}", hint="leakrange data list")
    gone = Path(tempfile.mkdtemp(dir=_root(), prefix=UNFINISHED)) / name
    try:
        os.rename(folder, gone)  # at once: nobody reads half a set
        shutil.rmtree(gone.parent)
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be deleted: {error.strerror}") from error


def _sweep(root: Path) -> None:
    """Delete what imports left that did not end, unless one may still be at work."""
    for folder in root.glob(f"{UNFINISHED}*"):
        with suppress(FileNotFoundError):  # it may end just now
            if time.time() - folder.stat().st_mtime > ABANDONED:
                shutil.rmtree(folder, ignore_errors=True)


def _root() -> Path:
    root = os.environ.get("LEAKRANGE_DATA")
    if not root:
        raise InvalidInput(
            "LEAKRANGE_DATA names no folder for data sets",
            hint='make one and name it: export LEAKRANGE_DATA="$HOME/leakrange-data"; '
            "the range needs the same",
        )
    return Path(root) / FOLDER


def _description(name: str, source: str, prepared: Prepared, digest: str) -> Description:
    hidden = ", ".join(prepared.use.hidden)
    division = prepared.division
    what = f"{division.kept.sum():,} samples of {source}; asked: {prepared.use.target}"
    return Description(
        name=name,
        description=what + (f", hidden: {hidden}" if hidden else ""),
        source=f"imported from {source}",
        sample=prepared.sample,
        attributes=tuple(
            Described(name=each.name, classes=each.classes, description=each.description)
            for each in (labels.attribute for labels in prepared.labels)
        ),
        rows=int(division.kept.sum()),
        notes=prepared.notes,
        digest=digest,
    )


def _pack(path: Path, prepared: Prepared) -> str:
    """Write the packed file. Return the SHA-256 (hex) of its content and form."""
    sample = prepared.sample
    rows = int(prepared.division.kept.sum())
    sums = hashlib.sha256(sample.model_dump_json().encode())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        _add(archive, sums, "values", (rows, *sample.shape), sample.dtype, prepared.values())
        for number, each in enumerate(prepared.labels):
            sums.update(f"{each.attribute.name}\0{each.attribute.classes}\n".encode())
            _add(archive, sums, label(number), each.values.shape, "int64", [each.values])
        division = prepared.division
        _add(archive, sums, "group", division.group.shape, "int64", [division.group])
        _add(archive, sums, "official", division.official.shape, "uint8", [division.official])
    return sums.hexdigest()


def _add(
    archive: zipfile.ZipFile,
    sums: Any,
    name: str,
    shape: tuple[int, ...],
    dtype: str,
    pieces: Iterable[NDArray[Any]],
) -> None:
    """Write an array piece by piece, so that no second copy is in memory."""
    stored = np.dtype(dtype).newbyteorder("<")
    with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
        header = {"descr": stored.str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for piece in pieces:
            content = np.ascontiguousarray(piece, dtype=stored).data
            file.write(content)
            sums.update(content)
