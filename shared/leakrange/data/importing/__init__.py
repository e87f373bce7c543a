"""Import of a user's own data: a table, or pictures in a folder, in tars or in a column, becomes a data set.

What is imported lies below LEAKRANGE_DATA and needs no code; `leakrange.data.sets.imported` reads it.
"""

from __future__ import annotations

from pathlib import Path

from leakrange.data.importing.arrays import ArrayRecords, arrays_of
from leakrange.data.importing.columnar import SAVED, ColumnAlbum, ColumnarRecords, ParquetRecords
from leakrange.data.importing.exported import HUB, exported_files
from leakrange.data.importing.files import is_arrays, records_of
from leakrange.data.importing.folder import FolderAlbum
from leakrange.data.importing.keeping import free_name, remove_set, staged, write_set
from leakrange.data.importing.pictures import prepare_album, prepare_array
from leakrange.data.importing.prepared import Prepared
from leakrange.data.importing.roles import ColumnUse
from leakrange.data.importing.shards import TarAlbum, tars_of
from leakrange.data.importing.table import prepare_table
from leakrange.wire.errors import InvalidInput

__all__ = ["ColumnUse", "Prepared", "import_set", "remove_set"]

SIZES = range(16, 513)


def import_set(path: Path, name: str, use: ColumnUse, *, size: int = 64, dry_run: bool = False) -> Prepared:
    """Import a file, a folder, a span of tars or a set of the hub (``hf:owner/name``) as the data set
    ``name``; pictures are scaled to ``size`` pixels a side. With ``dry_run`` all is read and checked, and
    nothing is kept.

    Returns what was found. Raises `InvalidInput` or `DataUnavailable` for what gives no data set, `Conflict`
    for a name that is taken, `StorageFull`; nothing is left of the set then.
    """
    free_name(name)
    if size not in SIZES:
        raise InvalidInput(f"pictures of {size} pixels a side cannot be asked for", hint="choose 16 to 512")
    with staged() as scratch:
        prepared = _prepared(path, use, size, scratch)
        if not dry_run:
            source = str(path) if str(path).startswith(HUB) else path.resolve().name
            write_set(name, source, prepared, scratch)
    return prepared


def _prepared(path: Path, use: ColumnUse, size: int, scratch: Path) -> Prepared:
    if str(path).startswith(HUB):
        return _of_columns(ParquetRecords(path, exported_files(str(path))), use, size, scratch)
    if (path / "dataset_dict.json").is_file():
        raise InvalidInput(
            f"{path} holds several parts of a data set", hint=f"import one, such as {path}/train"
        )
    if tars := tars_of(path):
        return prepare_album(TarAlbum(tars, use), use, size, scratch)
    if path.is_dir() and not (path / SAVED).is_file():
        return prepare_album(FolderAlbum(path, use, size), use, size, scratch)
    if not path.exists():
        raise InvalidInput(f"there is no file or folder {path}")
    if is_arrays(path):
        return _of_arrays(path, use, scratch)
    records = records_of(path)
    if isinstance(records, ColumnarRecords):
        return _of_columns(records, use, size, scratch)
    return prepare_table(records, use, scratch)


def _of_columns(records: ColumnarRecords, use: ColumnUse, size: int, scratch: Path) -> Prepared:
    """A table, or pictures where a column holds them."""
    if set(records.shown) - set(use.without):
        return prepare_album(ColumnAlbum(records, use), use, size, scratch)
    return prepare_table(records, use, scratch)


def _of_arrays(path: Path, use: ColumnUse, scratch: Path) -> Prepared:
    """A table, or pictures where one array has three axes or more."""
    arrays = arrays_of(path)
    wide = [name for name, array in arrays.items() if array.ndim > 1]
    if len(wide) > 1:
        raise InvalidInput(
            f"{path}: {', '.join(wide)} have several axes each", hint="one array holds the samples"
        )
    if wide and arrays[wide[0]].ndim > 2:
        pictures = arrays.pop(wide[0])
        if pictures.dtype != "uint8":
            raise InvalidInput(
                f"{path}: the array {wide[0]!r} is {pictures.dtype}", hint="pictures are uint8, 0 to 255"
            )
        return prepare_array(path, wide[0], pictures, arrays, use)
    return prepare_table(ArrayRecords(path, arrays), use, scratch)
