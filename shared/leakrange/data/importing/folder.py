"""A folder of pictures, with a folder for each class, and further attributes in a CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from leakrange.data.folders import MOST_BYTES
from leakrange.data.importing.albums import ENDINGS, Album, AlbumPicture
from leakrange.data.importing.records import CsvRecords
from leakrange.data.importing.roles import ColumnUse
from leakrange.wire.errors import InvalidInput

__all__ = ["FolderAlbum"]

FILE = "file"
"""The column of the CSV that names pictures, by their places in the folder."""
MOST_PICTURES = 5_000_000


class FolderAlbum(Album):
    """The pictures of a folder in the order of their places. The folder in which a picture lies is its label.

    Raises `InvalidInput` for a folder without pictures, with more of them than can be taken at ``size``, or
    whose CSV does not fit them or the use of columns.
    """

    kind = "pictures"

    def __init__(self, folder: Path, use: ColumnUse, size: int) -> None:
        self.folder = folder
        self.paths = _pictures(folder)
        if len(self.paths) * size * size * 3 > MOST_BYTES:
            raise InvalidInput(
                f"{len(self.paths)} pictures of {size} x {size} pixels take more than "
                f"{MOST_BYTES / 2**30:g} GiB",
                hint="choose a smaller --size, or import a part of them",
            )
        self._facts, self.unnamed = _columns(folder, self.paths)
        use.check([use.target, *self.columns])

    @property
    def columns(self) -> Sequence[str]:
        """The CSV's columns."""
        return list(self._facts)

    @property
    def notes(self) -> tuple[str, ...]:
        """How many pictures the CSV does not name."""
        return (f"pictures that the CSV does not name: {self.unnamed}",) if self.unnamed else ()

    def pictures(self) -> Iterator[AlbumPicture]:
        """See `Album.pictures`."""
        for number, path in enumerate(self.paths):
            facts = {name: cells[number] for name, cells in self._facts.items()}
            label = path.relative_to(self.folder).parts[0] if path.parent != self.folder else ""
            yield AlbumPicture(str(path), path, facts, label)


def _pictures(folder: Path) -> list[Path]:
    paths: list[Path] = []
    for path in folder.rglob("*"):
        hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
        if path.name.lower().endswith(ENDINGS) and not hidden and path.is_file():
            paths.append(path)
        if len(paths) > MOST_PICTURES:
            raise InvalidInput(
                f"{folder} holds more than {MOST_PICTURES} pictures", hint="import a part of it"
            )
    if not paths:
        raise InvalidInput(
            f"{folder} holds no pictures (*{', *'.join(ENDINGS)})",
            hint="put the pictures of each class into a folder of its own",
        )
    return sorted(paths)


def _columns(folder: Path, paths: Sequence[Path]) -> tuple[dict[str, list[str]], int]:
    """The CSV's columns, a value for each picture, "" where it does not name the picture; and the number of
    such pictures. Nothing where there is no CSV."""
    beside = folder.with_name(folder.name + ".csv")
    tables = sorted([*folder.glob("*.csv"), *([beside] if beside.is_file() else [])])
    if not tables:
        return {}, 0
    if len(tables) > 1:
        raise InvalidInput(
            f"{folder} has several CSV files: {', '.join(path.name for path in tables)}",
            hint="leave one that says more about the pictures",
        )
    records = CsvRecords(tables[0])
    if FILE not in records.columns:
        raise InvalidInput(
            f"{tables[0]} has no column {FILE!r}",
            hint="it names pictures by their places, such as cats/1.png",
        )
    row: dict[str, int] = {}
    columns: dict[str, list[str]] = {name: [] for name in records.columns}
    for batch in records.batches():
        for file in (str(each).strip() for each in batch[FILE]):
            if file in row:
                raise InvalidInput(f"{tables[0]} names {file!r} twice", hint="give each picture one row")
            row[file] = len(row)
        for name, cells in batch.items():
            columns[name] += [str(cell) for cell in cells]
    places = [row.get(path.relative_to(folder).as_posix(), -1) for path in paths]
    if max(places) < 0:
        raise InvalidInput(
            f"{tables[0]} names none of the pictures",
            hint="its column 'file' holds places such as cats/1.png",
        )
    chosen = {name: [cells[i] if i >= 0 else "" for i in places] for name, cells in columns.items()}
    return {name: cells for name, cells in chosen.items() if name != FILE}, places.count(-1)
