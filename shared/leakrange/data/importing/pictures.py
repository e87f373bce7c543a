"""Pictures: a folder with a folder for each class, and further attributes in a CSV; or an array of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.folders import ENDINGS, read_pictures
from leakrange.data.importing.columnar import as_cells
from leakrange.data.importing.prepared import Prepared, divide, labelled
from leakrange.data.importing.records import CsvRecords
from leakrange.data.importing.roles import ColumnUse, RoleColumn
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["FILE", "prepare_array", "prepare_folder"]

FILE = "file"
"""The column of the CSV that names pictures, by their places in the folder."""
PIECE = 256
"""Pictures that are written at once."""
MOST_PICTURES = 5_000_000
LEAST_SIDE, MOST_SIDE = 8, 512


def prepare_folder(folder: Path, use: ColumnUse, size: int) -> Prepared:
    """The pictures of a folder, scaled to ``size``. The folder in which a picture lies is its class of the
    attribute ``use.target``, unless the CSV has a column of that name. Pictures that are equal pixel by pixel
    are near-copies.

    Raises `InvalidInput` for a folder, or a use of columns, that gives no data set; `DataUnavailable` for a
    broken picture.
    """
    paths = _pictures(folder)
    columns, unnamed = _columns(folder, paths)
    if use.target not in columns:
        classes = [_class(folder, path) for path in paths]
        columns = {use.target: classes, **columns}
    use.check(list(columns))
    roles = _roles(use, columns)
    values, group = read_pictures(paths, size)
    notes: tuple[str, ...] = ("of each picture the square in the middle is taken",)
    if unnamed:
        notes += (f"pictures that the CSV does not name: {unnamed}",)
    return _prepared("pictures", use, roles, values, group, notes)


def prepare_array(
    path: Path, name: str, pictures: NDArray[np.uint8], columns: Mapping[str, NDArray[Any]], use: ColumnUse
) -> Prepared:
    """The pictures (N, H, W) or (N, H, W, C) of an npz, with its other arrays (N,) as columns. Raises
    `InvalidInput` for pictures of another form, or a use of columns that gives no data set."""
    values = pictures[..., None] if pictures.ndim == 3 else pictures
    if values.ndim != 4 or values.shape[3] not in (1, 3):
        raise InvalidInput(
            f"{path}: the array {name!r} has the shape {pictures.shape}",
            hint="pictures are (rows, height, width), or with a last axis of 1 or 3 channels",
        )
    height, width = values.shape[1:3]
    if height != width or not LEAST_SIDE <= height <= MOST_SIDE:
        raise InvalidInput(
            f"{path}: the pictures are {height} pixels high and {width} wide",
            hint=f"make them square, with sides of {LEAST_SIDE} to {MOST_SIDE} pixels",
        )
    use.check(list(columns))
    roles = _roles(use, {each: as_cells(columns[each]) for each in use.roles})
    first: dict[bytes, int] = {}
    group = np.array([first.setdefault(each.tobytes(), i) for i, each in enumerate(values)], dtype=np.int64)
    return _prepared("npz", use, roles, values, group, ())


def _prepared(
    kind: str,
    use: ColumnUse,
    roles: Mapping[str, RoleColumn],
    values: NDArray[np.uint8],
    group: NDArray[np.int64],
    notes: tuple[str, ...],
) -> Prepared:
    division = divide(roles, use, group)
    kept = np.flatnonzero(division.kept)

    def pieces() -> Iterator[NDArray[np.uint8]]:
        for begin in range(0, len(kept), PIECE):
            yield values[kept[begin : begin + PIECE]]

    return Prepared(
        kind=kind,
        sample=SampleSpec.picture(*values.shape[1:]),
        values=pieces,
        labels=labelled(roles, use, division),
        division=division,
        use=use,
        notes=(*notes, "pictures that are equal pixel by pixel count as near-copies"),
    )


def _roles(use: ColumnUse, columns: Mapping[str, Any]) -> dict[str, RoleColumn]:
    roles = {name: RoleColumn(name) for name in use.roles}
    for name, role in roles.items():
        role.add(columns[name])
    return roles


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


def _class(folder: Path, picture: Path) -> str:
    """The folder in which a picture lies, "" where it lies in none."""
    return picture.relative_to(folder).parts[0] if picture.parent != folder else ""


def _columns(folder: Path, paths: Sequence[Path]) -> tuple[dict[str, list[str]], int]:
    """The CSV's columns, a value for each picture, "" where it does not name the picture; and the number of
    such pictures. Nothing where there is no CSV."""
    beside = folder.with_name(folder.name + ".csv")
    found = sorted([*folder.glob("*.csv"), *([beside] if beside.is_file() else [])])
    if not found:
        return {}, 0
    if len(found) > 1:
        raise InvalidInput(
            f"{folder} has several CSV files: {', '.join(path.name for path in found)}",
            hint="leave one that says more about the pictures",
        )
    records = CsvRecords(found[0])
    if FILE not in records.columns:
        raise InvalidInput(
            f"{found[0]} has no column {FILE!r}",
            hint="it names pictures by their places, such as cats/1.png",
        )
    row: dict[str, int] = {}
    columns: dict[str, list[str]] = {name: [] for name in records.columns}
    for batch in records.batches():
        for file in (str(each).strip() for each in batch[FILE]):
            if file in row:
                raise InvalidInput(f"{found[0]} names {file!r} twice", hint="give each picture one row")
            row[file] = len(row)
        for name, cells in batch.items():
            columns[name] += [str(cell) for cell in cells]
    places = [row.get(path.relative_to(folder).as_posix(), -1) for path in paths]
    if max(places) < 0:
        raise InvalidInput(
            f"{found[0]} names none of the pictures", hint="its column 'file' holds places such as cats/1.png"
        )
    chosen = {name: [cells[i] if i >= 0 else "" for i in places] for name, cells in columns.items()}
    return {name: cells for name, cells in chosen.items() if name != FILE}, places.count(-1)
