"""Arrays in files, npy and npz: numbers, booleans and text, read without NumPy's parser.

NumPy evaluates a header as Python; of two threads that parse at once one may end with ``SystemError: AST
constructor recursion depth mismatch`` (CPython 3.11). `leakrange.wire.tensors` reads it by a pattern, and
checks the size that it announces before anything is allocated.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Collection
from typing import IO, Any, Final

import numpy as np
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput, MalformedBody
from leakrange.wire.tensors import npy_view

__all__ = ["UNREADABLE", "stored_array", "stored_arrays"]

UNREADABLE: Final = (
    *(MalformedBody, InvalidInput, ValueError, EOFError, NotImplementedError, RuntimeError, OverflowError),
    *(OSError, struct.error, zipfile.BadZipFile, zlib.error),
)
"""Errors of both functions, and of zipfile and zlib, for damaged bytes."""
DEFLATED: Final = 1040
"""Deflate makes at most 1032 bytes of one."""
PIECE: Final = 2**20


def stored_array(content: bytes | memoryview) -> NDArray[Any]:
    """The array of an npy file. Raises `UNREADABLE` for anything else."""
    array = npy_view(content, stored=True)
    return np.array(array, dtype=array.dtype.newbyteorder("="), order="C")


def stored_arrays(file: IO[bytes], names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """The arrays of an npz file by name: all, or those of ``names`` that it has. Raises `UNREADABLE` for
    anything else."""
    with zipfile.ZipFile(file) as archive:
        entries = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
        chosen = entries if names is None else [name for name in names if name in entries]
        return {name: npy_view(_content(archive, entries[name]), stored=True) for name in chosen}


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> memoryview:
    """An entry unpacked in place, since data sets fill gigabytes."""
    if entry.file_size > DEFLATED * (entry.compress_size + 1):
        raise MalformedBody(f"{entry.filename!r} claims to be larger than it is")
    content = memoryview(bytearray(entry.file_size))
    with archive.open(entry) as stream:
        for begin in range(0, len(content), PIECE):
            piece = stream.read(min(PIECE, len(content) - begin))
            content[begin : begin + len(piece)] = piece
        stream.read(1)  # at the end the checksum is compared
    return content
