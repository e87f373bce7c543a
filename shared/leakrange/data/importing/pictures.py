"""Pictures become samples: scaled one by one into a file, or taken as an array; near-copies stay together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leakrange.data.folders import MOST_BYTES, squared
from leakrange.data.importing.albums import Album
from leakrange.data.importing.arrays import as_cells
from leakrange.data.importing.copies import near_copies, reduced
from leakrange.data.importing.prepared import Prepared, divide, labelled
from leakrange.data.importing.roles import ColumnUse, RoleColumn
from leakrange.wire.disk import room_in
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

__all__ = ["prepare_album", "prepare_array"]

PIECE = 256
"""Pictures that are written at once."""
LEAST_SIDE, MOST_SIDE = 8, 512


def prepare_album(album: Album, use: ColumnUse, size: int, scratch: Path) -> Prepared:
    """The pictures of an album, scaled to ``size``; they lie in the folder ``scratch`` meanwhile. A picture's
    label is its class of the attribute ``use.target``, unless the album has a column of that name.

    Raises `InvalidInput` for an album, or a use of columns, that gives no data set; `DataUnavailable` for a
    broken picture; `StorageFull`.
    """
    roles = {name: RoleColumn(name) for name in use.roles}
    labels = RoleColumn(use.target)
    spool = _PictureSpool(scratch / "pictures.u8", scratch / "reduced.u8", size)
    with room_in(scratch):
        spool.fill(_noted(album, roles, labels))
    if album.labelled and use.target not in album.columns:
        roles[use.target] = labels
    notes = (*album.notes, "of each picture the square in the middle is taken")
    return _prepared(album.kind, use, roles, spool.values(), spool.reductions(), notes)


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
    roles = {each: RoleColumn(each) for each in use.roles}
    for each, role in roles.items():
        role.add(as_cells(columns[each]))
    return _prepared("npz", use, roles, values, np.stack([reduced(each) for each in values]), ())


def _noted(album: Album, roles: Mapping[str, RoleColumn], labels: RoleColumn) -> Iterator[NDArray[np.uint8]]:
    """The pixels of all pictures; their facts go into the columns."""
    for picture in album.pictures():
        labels.add((picture.label,))
        for name, role in roles.items():
            role.add((picture.facts.get(name, ""),))
        yield picture.pixels()


def _prepared(
    kind: str,
    use: ColumnUse,
    roles: Mapping[str, RoleColumn],
    values: NDArray[np.uint8],
    reductions: NDArray[np.uint8],
    notes: tuple[str, ...],
) -> Prepared:
    division = divide(roles, use, near_copies(reductions))
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
        notes=(*notes, "a picture that was saved again with losses, or scaled, equals its original"),
    )


@dataclass
class _PictureSpool:
    """Scaled pictures in a file, uint8 (N, size, size, 3), and what `reduced` gives of each in another."""

    path: Path
    small: Path
    size: int

    def fill(self, pictures: Iterator[NDArray[np.uint8]]) -> None:
        """Write all pictures. Raises `InvalidInput` for none, and for more than `MOST_BYTES` of them."""
        written = 0
        with self.path.open("wb") as file, self.small.open("wb") as small:
            for pixels in pictures:
                picture = squared(pixels, self.size)
                written += file.write(np.ascontiguousarray(picture).data)
                if written > MOST_BYTES:
                    raise InvalidInput(
                        f"at {self.size} x {self.size} pixels the pictures take more than "
                        f"{MOST_BYTES / 2**30:g} GiB",
                        hint="choose a smaller --size, or import a part of them",
                    )
                small.write(reduced(picture).data)
        if not written:
            raise InvalidInput("there is no picture", hint="is it the right file?")

    def values(self) -> NDArray[np.uint8]:
        """The pictures, read from the file as they are asked for."""
        return np.memmap(self.path, np.uint8, "r").reshape(-1, self.size, self.size, 3)

    def reductions(self) -> NDArray[np.uint8]:
        """What `reduced` gave of each, (N, D)."""
        small = np.memmap(self.small, np.uint8, "r")
        return small.reshape(self.values().shape[0], -1)
