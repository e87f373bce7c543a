"""Files that hold columns: Parquet, Arrow as Hugging Face saves it, and the arrays of an npz."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.folders import MOST_BYTES
from leakrange.data.importing.records import Batch, Cells, Records
from leakrange.wire.disk import read_regular
from leakrange.wire.errors import InvalidInput
from leakrange.wire.stored import UNREADABLE, stored_arrays

__all__ = ["SAVED", "ArrayRecords", "ParquetRecords", "SavedRecords", "arrays_of", "as_cells"]

SAVED = "state.json"
"""The file by which a saved Hugging Face data set is known."""
MOST_FACTS = 16 * 2**20
"""Bytes in one of its files of facts."""

EXACT = 2**53
"""From here on a float64 does not tell whole numbers apart."""


class ParquetRecords(Records):
    """A Parquet file, read with pyarrow. Columns of lists and other nested values are left out."""

    kind = "Parquet"

    def __init__(self, path: Path) -> None:
        _require_pyarrow(path)
        import pyarrow.parquet as parquet

        with _readable(path), parquet.ParquetFile(path) as file:
            schema, facts = file.schema_arrow, file.metadata
            groups = [facts.row_group(i).total_byte_size for i in range(facts.num_row_groups)]
        if max(groups, default=0) > MOST_BYTES:
            raise InvalidInput(
                f"{path} has a row group of {max(groups) / 2**30:.1f} GiB",
                hint="write it again with smaller row groups",
            )
        super().__init__(path, *_columns(schema))

    def batches(self) -> Iterator[Batch]:
        """See `Records.batches`."""
        import pyarrow.parquet as parquet

        size = self.size(len(self.columns))
        with _readable(self.path), parquet.ParquetFile(self.path, buffer_size=2**20) as file:
            for batch in file.iter_batches(size, columns=list(self.columns), use_threads=False):
                yield {name: _cells(batch.column(name)) for name in self.columns}


class SavedRecords(Records):
    """A Hugging Face data set in the folder to which it was saved (`save_to_disk`): Arrow files, and the
    names of its classes. Columns of lists, pictures and other nested values are left out."""

    kind = "Hugging Face data set"

    def __init__(self, path: Path) -> None:
        _require_pyarrow(path)
        import pyarrow

        with _readable(path):
            state = json.loads(read_regular(path, SAVED, MOST_FACTS))
            features = json.loads(read_regular(path, "dataset_info.json", MOST_FACTS)).get("features") or {}
            self.files = [path / Path(each["filename"]).name for each in state["_data_files"]]
            self.classes = {
                name: [str(each) for each in kind["names"]]
                for name, kind in features.items()
                if isinstance(kind, dict) and kind.get("_type") == "ClassLabel"
            }
            with pyarrow.memory_map(str(self.files[0])) as file, pyarrow.ipc.open_stream(file) as stream:
                schema = stream.schema
        super().__init__(path, *_columns(schema))

    def batches(self) -> Iterator[Batch]:
        """See `Records.batches`."""
        import pyarrow

        size = self.size(len(self.columns))
        for path in self.files:
            with (
                _readable(path),
                pyarrow.memory_map(str(path)) as file,
                pyarrow.ipc.open_stream(file) as stream,
            ):
                for written in stream:
                    for begin in range(0, len(written), size):
                        batch = written.slice(begin, size)
                        yield {name: self._named(name, _cells(batch.column(name))) for name in self.columns}

    def _named(self, column: str, cells: Cells) -> Cells:
        """Cells with the names of classes in place of their numbers, if the set names them."""
        names = self.classes.get(column)
        if names is None or not isinstance(cells, np.ndarray):
            return cells
        return [names[int(each)] if 0 <= each < len(names) else "" for each in cells]


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


def _require_pyarrow(path: Path) -> None:
    if find_spec("pyarrow") is None:
        raise InvalidInput(f"pyarrow is needed to read {path}", hint="pip install 'leakrange[data]'")


def _columns(schema: Any) -> tuple[list[str], dict[str, str]]:
    """The columns that can be read, and what the others hold."""
    columns = list(zip(schema.names, schema.types, strict=True))
    nested = {name: str(kind)[:80] for name, kind in columns if not _flat(kind)}
    return [name for name, kind in columns if _flat(kind)], nested


def _flat(kind: Any) -> bool:
    from pyarrow import types

    inner = kind.value_type if types.is_dictionary(kind) else kind
    return bool(
        types.is_primitive(inner)
        or types.is_decimal(inner)
        or types.is_string(inner)
        or types.is_large_string(inner)
        or types.is_string_view(inner)
        or types.is_null(inner)
    ) and not types.is_duration(inner)


def _cells(column: Any) -> Cells:
    import pyarrow
    from pyarrow import compute, types

    kind = column.type
    if types.is_dictionary(kind):
        return _cells(column.cast(kind.value_type))
    if types.is_null(kind):
        return [""] * len(column)
    if types.is_decimal(kind) or types.is_floating(kind):
        return np.asarray(column.cast(pyarrow.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    if types.is_integer(kind):
        ends = compute.min_max(column).as_py()
        if max(abs(ends["min"] or 0), abs(ends["max"] or 0)) < EXACT:
            return np.asarray(column.cast(pyarrow.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    text: list[str] = column.cast(pyarrow.string()).fill_null("").to_pylist()
    return text


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what pyarrow raises for a broken file, and facts of another form, into `InvalidInput`."""
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise InvalidInput(f"{path} cannot be read: {first}", hint="is it whole?") from error
