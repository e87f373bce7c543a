"""The size that a stored array declares: tells a damaged file from a machine that is out of memory."""

from __future__ import annotations

import io
import math
import zipfile
from typing import IO

import numpy as np

__all__ = ["overstated"]

HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
DEFLATED = 1040
"""Deflate makes at most 1032 bytes of one."""


def overstated(content: bytes) -> bool:
    """Return whether an npy or npz declares more numbers than its bytes can hold; raises as reading damaged
    bytes does."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return _claimed(io.BytesIO(content)) > len(content)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return any(_lies(archive, entry) for entry in archive.infolist())


def _lies(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bool:
    if entry.file_size > DEFLATED * (entry.compress_size + 1):
        return True
    with archive.open(entry) as stream:
        return _claimed(stream) > entry.file_size


def _claimed(stream: IO[bytes]) -> int:
    """Return the bytes that an array has by its header."""
    version = np.lib.format.read_magic(stream)
    if version not in HEADERS:
        raise ValueError(f"npy of version {version}")
    shape, _, dtype = HEADERS[version](stream)
    return math.prod(shape) * dtype.itemsize
