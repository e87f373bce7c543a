"""Data sets packed into one ``.npz`` each: ``$LEAKRANGE_DATA/<set>/<set>.npz``.

It holds one array for each property of the samples; pictures are JPEG streams joined end to end (``jpeg``,
with ``offset``) or plain arrays. Nothing in a file is ever unpickled.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from leakrange.data.catalogue import Content, Outline
from leakrange.data.placed import PlacedSet
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from leakrange.wire.tensors import ONE_READER

__all__ = [
    "AGAIN",
    "Arrays",
    "Layout",
    "PackedSet",
    "decode",
    "read_arrays",
    "require_classes",
    "require_range",
]

Arrays = Mapping[str, NDArray[Any]]
Layout = Mapping[str, tuple[str, int]]
"""Arrays in a file, by name: dtype (``str`` for text of any length) and number of axes."""

AGAIN = "pack or download it again"


class PackedSet(PlacedSet):
    """A set in a packed file; subclasses name its arrays, and make samples and labels of them."""

    layout: ClassVar[Layout]
    """The arrays with facts about the samples."""
    pictures: ClassVar[Layout] = MappingProxyType({"jpeg": ("uint8", 1), "offset": ("int64", 1)})
    """The arrays that hold the pictures."""

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The unpacked file: pictures are decoded once, whatever the split."""
        arrays = read_arrays(paths[0], {**cls.layout, **cls.pictures})
        return cls.unpack(arrays).with_values(cls.values(arrays))

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The file without its pictures, which are not even read."""
        del spec
        return cls.unpack(read_arrays(cls.files()[0], cls.layout))

    @classmethod
    @abstractmethod
    def unpack(cls, arrays: Arrays) -> Outline:
        """Labels, groups and split from all arrays but those of the pictures. Raises `DataUnavailable` where
        they contradict the layout."""

    @classmethod
    def values(cls, arrays: Arrays) -> NDArray[np.uint8]:
        """The pictures, uint8 (N, H, W, C). Raises as `unpack` does."""
        return decode(arrays["jpeg"], arrays["offset"])


def read_arrays(path: Path, layout: Layout) -> dict[str, NDArray[Any]]:
    """The arrays of ``layout`` from an ``.npz``, checked for dtype and axes.

    Raises `DataUnavailable` with the file's name and its mistake.
    """
    try:
        # Opened here, since NumPy leaves its own handle open when the archive proves broken.
        with path.open("rb") as file, ONE_READER:
            stored = np.load(file, allow_pickle=False)
            if not isinstance(stored, np.lib.npyio.NpzFile):
                raise DataUnavailable(f"{path} is a single array, not an .npz", hint=AGAIN)
            missing = sorted(set(layout) - set(stored.files))
            if missing:
                raise DataUnavailable(f"{path} lacks the arrays: {', '.join(missing)}", hint=AGAIN)
            arrays = {name: stored[name] for name in layout}
    # Errors of NumPy's own checks, zipfile, zlib and the file system, e.g. for a file cut short.
    except (
        OSError,
        ValueError,
        EOFError,
        MemoryError,
        TypeError,
        NotImplementedError,
        zipfile.BadZipFile,
        zlib.error,
    ) as broken:
        raise DataUnavailable(f"{path} cannot be read: {broken}", hint=AGAIN) from broken
    for name, (dtype, axes) in layout.items():
        array = arrays[name]
        fits = array.dtype.kind == "U" if dtype == "str" else array.dtype == np.dtype(dtype)
        if not fits or array.ndim != axes:
            form = f"{array.dtype} with {array.ndim} axes"
            raise DataUnavailable(f"{path}: {name!r} is {form}, not {dtype} with {axes}", hint=AGAIN)
    return arrays


def decode(jpeg: NDArray[np.uint8], offset: NDArray[np.int64]) -> NDArray[np.uint8]:
    """uint8 (N, H, W, 3) pictures from joined JPEG streams; picture i is ``jpeg[offset[i]:offset[i + 1]]``.

    Raises `DataUnavailable` for offsets outside the streams, a stream that is no JPEG, and pictures of
    different sizes.
    """
    if len(offset) < 2 or offset[0] < 0 or offset[-1] > len(jpeg) or (np.diff(offset) <= 0).any():
        raise DataUnavailable("the offsets do not cut the JPEG streams into pictures", hint=AGAIN)
    pictures: NDArray[np.uint8] | None = None
    for i in range(len(offset) - 1):
        stream = io.BytesIO(jpeg[offset[i] : offset[i + 1]].tobytes())
        try:
            with Image.open(stream, formats=("JPEG",)) as opened:
                picture = np.asarray(opened.convert("RGB"))
        except (OSError, Image.DecompressionBombError) as broken:
            raise DataUnavailable(f"picture {i} is not a JPEG: {broken}", hint=AGAIN) from broken
        if pictures is None:
            pictures = np.empty((len(offset) - 1, *picture.shape), dtype=np.uint8)
        if picture.shape != pictures.shape[1:]:
            raise DataUnavailable(f"picture {i} has another size than the first", hint=AGAIN)
        pictures[i] = picture
    assert pictures is not None
    return pictures


def require_range(name: str, values: NDArray[Any], low: int, high: int) -> NDArray[np.int64]:
    """``values`` as int64. Raises `DataUnavailable` if one lies outside ``low``..``high``."""
    numbers = values.astype(np.int64)
    if len(numbers) and (numbers.min() < low or numbers.max() > high):
        raise DataUnavailable(f"array {name!r} holds values outside {low}..{high}", hint=AGAIN)
    return numbers


def require_classes(name: str, classes: NDArray[Any], expected: Sequence[str]) -> None:
    """Raise `DataUnavailable` unless the names in the file are the expected ones in the expected order."""
    if classes.tolist() != list(expected):
        raise DataUnavailable(
            f"array {name!r} should name {list(expected)}, not {classes.tolist()}", hint=AGAIN
        )
