"""Which reader a file of records has, by its ending."""

from __future__ import annotations

from pathlib import Path

from leakrange.data.importing.arrays import ArrayRecords, arrays_of
from leakrange.data.importing.columnar import SAVED, ParquetRecords, SavedRecords
from leakrange.data.importing.records import CsvRecords, Records
from leakrange.wire.errors import InvalidInput

__all__ = ["is_arrays", "records_of"]


def records_of(path: Path) -> Records:
    """The records of a CSV, Parquet or npz file, or of a folder to which Hugging Face saved a data set.

    Raises `InvalidInput` for what is not there, is broken, or has an ending that says nothing of its form.
    """
    if (path / SAVED).is_file():
        return SavedRecords(path)
    if not path.is_file():
        raise InvalidInput(f"there is no file {path}", hint="give a CSV, Parquet or npz file")
    ending = _ending(path)
    if ending in ("csv", "tsv", "txt"):
        return CsvRecords(path)
    if ending in ("parquet", "pq"):
        return ParquetRecords(path)
    if ending == "npz":
        return ArrayRecords(path, arrays_of(path))
    if ending in ("tar", "tgz"):
        raise InvalidInput(f"{path.name} is compressed", hint="gunzip it first: pictures hardly shrink")
    raise InvalidInput(
        f"{path.name} has an ending that says nothing of its form",
        hint="name it *.csv, *.csv.gz, *.parquet, *.npz or *.tar, or give a folder of pictures",
    )


def is_arrays(path: Path) -> bool:
    """Whether a file is an npz, one array of which may hold pictures."""
    return path.is_file() and _ending(path) == "npz"


def _ending(path: Path) -> str:
    return path.name.lower().removesuffix(".gz").rpartition(".")[2]
