"""The arrays of an npz as columns of a table."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.folders import MOST_BYTES
from leakrange.data.importing.records import Batch, Cells, Records
from leakrange.wire.errors import InvalidInput
from leakrange.wire.stored import UNREADABLE, stored_arrays

__all__ = ["EXACT", "ArrayRecords", "arrays_of", "as_cells"]

EXACT = 2**53
"""From here on a float64 does not tell whole numbers apart."""


class ArrayRecords(Records):
    """The arrays of an npz, each of which is a column, but one of two axes (rows, numbers): its columns are
    numbered."""

    kind = "npz"

    def __init__(self, path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        for name, array in arrays.items():
            if array.ndim == 1:
                self.arrays[name] = array
            else:
                self.arrays |= {f"{name}_{i}": array[:, i] for i in range(array.shape[1])}
        super().__init__(path, list(self.arrays), {})

    def batches(self) -> Iterator[Batch]:
        """See `Records.batches`."""
        size = self.size(len(self.arrays))
        rows = len(next(iter(self.arrays.values())))
        for begin in range(0, rows, size):
            yield {name: as_cells(array[begin : begin + size]) for name, array in self.arrays.items()}


def arrays_of(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an npz, all of as many rows. Raises `InvalidInput` for a file that is broken, or too
    large for memory."""
    hint = "write it with numpy.savez: numbers, truth values and text, no objects"
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(entry.file_size for entry in archive.infolist())
        if total <= MOST_BYTES:
            with path.open("rb") as file:
                arrays = stored_arrays(file)
    except (*UNREADABLE, MemoryError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}", hint=hint) from error
    if total > MOST_BYTES:
        raise InvalidInput(
            f"{path} unpacks to {total / 2**30:.1f} GiB; at most {MOST_BYTES / 2**30:g} are read",
            hint="write a Parquet file instead",
        )
    rows = {len(array) if array.ndim else 0 for array in arrays.values()}
    if len(rows) != 1 or 0 in rows:
        raise InvalidInput(
            f"{path}: its arrays have {', '.join(map(str, sorted(rows))) or 'no'} rows",
            hint="give every array one entry a row",
        )
    return arrays


def as_cells(array: NDArray[Any]) -> Cells:
    """A column (N,) of an npz as cells."""
    if array.dtype.kind == "b":
        return ["true" if each else "false" for each in array]
    if array.dtype.kind == "U":
        return [str(each) for each in array]
    if array.dtype.kind in "iu" and _huge(array):
        return [str(each) for each in array.tolist()]
    numbers: NDArray[np.float64] = array.astype(np.float64)
    return numbers


def _huge(array: NDArray[Any]) -> bool:
    return bool(len(array) and max(abs(int(array.min())), abs(int(array.max()))) >= EXACT)
