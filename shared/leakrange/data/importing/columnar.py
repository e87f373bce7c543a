"""Files that hold columns: Parquet, and Arrow as Hugging Face saves it. A column may hold pictures."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from leakrange.data.folders import MOST_BYTES
from leakrange.data.importing.albums import LARGEST, Album, AlbumPicture
from leakrange.data.importing.arrays import EXACT
from leakrange.data.importing.records import Batch, Cells, Records, as_text
from leakrange.data.importing.roles import ColumnUse
from leakrange.wire.disk import read_regular
from leakrange.wire.errors import InvalidInput

__all__ = ["SAVED", "ColumnAlbum", "ColumnarRecords", "ParquetRecords", "SavedRecords"]

SAVED = "state.json"
"""The file by which a saved Hugging Face data set is known."""
MOST_FACTS = 16 * 2**20
"""Bytes in one of its files of facts."""
PIECE = 32
"""Pictures that are read at once."""


class ColumnarRecords(Records):
    """Columns as pyarrow reads them. shown: those that hold pictures, as Hugging Face stores them: a file's
    bytes, and the path that it once had. classes: names of a column's classes, if the file says them. Columns
    of lists and other nested values are left out."""

    def __init__(self, path: Path, schema: Any, features: Any) -> None:
        columns = list(zip(schema.names, schema.types, strict=True))
        self.shown = [name for name, kind in columns if _is_picture(kind)]
        self.classes = {
            name: [str(each) for each in kind["names"]]
            for name, kind in (features or {}).items()
            if isinstance(kind, dict) and kind.get("_type") == "ClassLabel"
        }
        flat = [name for name, kind in columns if _flat(kind)]
        nested = {name: str(kind)[:80] for name, kind in columns if not _flat(kind)}
        super().__init__(path, [*flat, *self.shown], nested)
        self.columns = tuple(name for name in self.columns if name not in self.shown)

    @abstractmethod
    def pieces(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """Record batches of at most ``size`` rows with these columns. Raises `InvalidInput` for what is
        broken."""

    def batches(self) -> Iterator[Batch]:
        """See `Records.batches`."""
        for piece in self.pieces(self.columns, self.size(len(self.columns))):
            yield {name: self.cells(piece, name) for name in self.columns}

    def cells(self, piece: Any, column: str) -> Cells:
        """A column of a record batch, with the names of classes in place of their numbers, if they have
        names."""
        cells = _cells(piece.column(column))
        names = self.classes.get(column)
        if names is None or not isinstance(cells, np.ndarray):
            return cells
        return [names[int(each)] if 0 <= each < len(names) else "" for each in cells]


class ParquetRecords(ColumnarRecords):
    """Parquet files with the same columns, read with pyarrow one after the other."""

    kind = "Parquet"

    def __init__(self, path: Path, files: Sequence[Path] = ()) -> None:
        _require_pyarrow(path)
        import pyarrow.parquet as parquet

        self.files = list(files) or [path]
        for each in self.files:
            with _readable(each), parquet.ParquetFile(each) as file:
                facts = file.metadata
                groups = [facts.row_group(i).total_byte_size for i in range(facts.num_row_groups)]
            if max(groups, default=0) > MOST_BYTES:
                raise InvalidInput(
                    f"{each} has a row group of {max(groups) / 2**30:.1f} GiB",
                    hint="write it again with smaller row groups",
                )
        with _readable(path), parquet.ParquetFile(self.files[0]) as file:
            written = (file.schema_arrow.metadata or {}).get(b"huggingface", b"{}")
            features = json.loads(written).get("info", {}).get("features")
            super().__init__(path, file.schema_arrow, features)

    def pieces(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """See `ColumnarRecords.pieces`."""
        import pyarrow.parquet as parquet

        for path in self.files:
            with _readable(path), parquet.ParquetFile(path, buffer_size=2**20) as file:
                yield from file.iter_batches(size, columns=list(columns), use_threads=False)


class SavedRecords(ColumnarRecords):
    """A Hugging Face data set in the folder to which it was saved (`save_to_disk`): Arrow files, and the
    names of its classes."""

    kind = "Hugging Face data set"

    def __init__(self, path: Path) -> None:
        _require_pyarrow(path)
        import pyarrow

        with _readable(path):
            state = json.loads(read_regular(path, SAVED, MOST_FACTS))
            features = json.loads(read_regular(path, "dataset_info.json", MOST_FACTS)).get("features")
            self.files = [path / Path(each["filename"]).name for each in state["_data_files"]]
            with pyarrow.memory_map(str(self.files[0])) as file, pyarrow.ipc.open_stream(file) as stream:
                super().__init__(path, stream.schema, features)

    def pieces(self, columns: Sequence[str], size: int) -> Iterator[Any]:
        """See `ColumnarRecords.pieces`."""
        import pyarrow

        for path in self.files:
            with (
                _readable(path),
                pyarrow.memory_map(str(path)) as file,
                pyarrow.ipc.open_stream(file) as stream,
            ):
                for written in stream:
                    for begin in range(0, len(written), size):
                        yield written.slice(begin, size).select(list(columns))


class ColumnAlbum(Album):
    """The pictures of a file's one column of them; its other columns say more. Columns that ``use`` leaves
    out do not count.

    Raises `InvalidInput` for several such columns, and a use of columns that does not fit.
    """

    labelled = False

    def __init__(self, records: ColumnarRecords, use: ColumnUse) -> None:
        self.records, self.kind = records, records.kind
        shown = [name for name in records.shown if name not in use.without]
        if len(shown) > 1:
            raise InvalidInput(
                f"{records.path} has several columns of pictures: {', '.join(shown)}",
                hint="leave out all but one (--without)",
            )
        self.shown = shown[0]
        use.check(records.columns, records.left_out)
        self.asked = use.roles

    @property
    def columns(self) -> Sequence[str]:
        """See `Album.columns`."""
        return self.records.columns

    def pictures(self) -> Iterator[AlbumPicture]:
        """See `Album.pictures`."""
        row = 0
        for piece in self.records.pieces((self.shown, *self.asked), PIECE):
            cells = {name: self.records.cells(piece, name) for name in self.asked}
            for place, file in enumerate(piece.column(self.shown).field("bytes")):
                row += 1
                name = f"{self.records.path}: the picture of row {row}"
                if not file.is_valid or len(file.as_buffer()) > LARGEST:
                    raise InvalidInput(
                        f"{name} is not in the file, or larger than {LARGEST >> 20} MiB",
                        hint="save the set with its pictures: a path to them is not followed",
                    )
                facts = {each: _text(column[place]) for each, column in cells.items()}
                yield AlbumPicture(name, file.as_py(), facts)


def _text(cell: Any) -> str:
    return cell if isinstance(cell, str) else as_text(float(cell))


def _is_picture(kind: Any) -> bool:
    from pyarrow import types

    if not types.is_struct(kind) or {kind.field(i).name for i in range(kind.num_fields)} != {"bytes", "path"}:
        return False
    content = kind.field("bytes").type
    return bool(types.is_binary(content) or types.is_large_binary(content))


def _require_pyarrow(path: Path) -> None:
    if find_spec("pyarrow") is None:
        raise InvalidInput(f"pyarrow is needed to read {path}", hint="pip install 'leakrange[data]'")


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
