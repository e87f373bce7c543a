"""Data sets packed into one ``.npz`` each: ``$LEAKRANGE_DATA/<set>/<set>.npz``.

It holds one array for each property of the samples; pictures are JPEG streams joined end to end (``jpeg``,
with ``offset``) or plain arrays. Nothing in a file is ever unpickled.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from leakrange.data.catalogue import Content, Outline, PlacedSet
from leakrange.data.columns import PACK_AGAIN, Columns, require_classes, require_range
from leakrange.data.samples import train_or_test
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from leakrange.wire.stored import UNREADABLE, stored_arrays

__all__ = ["Arrays", "Layout", "PackedSet", "TrainTestSet", "decode", "layout_of", "pieces", "read_arrays"]

Arrays = Mapping[str, NDArray[Any]]
Layout = Mapping[str, tuple[str, int]]
"""Arrays in a file, by name: dtype and number of axes."""
Spelling = Mapping[str, Sequence[str]]
"""Arrays of names in a file, which must be just these."""

NOTHING: Spelling = MappingProxyType({})


def layout_of(**arrays: str | tuple[str, int]) -> Layout:
    """A layout of these arrays, each of which has one axis unless their number is given with its dtype."""
    return MappingProxyType(
        {name: (each, 1) if isinstance(each, str) else each for name, each in arrays.items()}
    )


class PackedSet(PlacedSet):
    """A set in a packed file, whose arrays are the columns of its attributes."""

    layout: ClassVar[Layout]
    """The arrays with facts about the samples. ``group`` is that of near-copies, and ``test`` marks the
    official test samples."""
    spelling: ClassVar[Spelling] = NOTHING
    """The arrays that name the classes, so that a file with others is not misread."""
    pictures: ClassVar[Layout] = layout_of(jpeg="uint8", offset="int64")
    """The arrays that hold the pictures."""

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The unpacked file: pictures are decoded once, whatever the split."""
        arrays = read_arrays(paths[0], {**cls.layout, **cls.pictures}, cls.spelling)
        return cls._outline(arrays).with_values(cls.values(arrays))

    @classmethod
    def outline(cls, spec: DataSpec) -> Outline:
        """The file without its pictures, which are not even read."""
        del spec
        return cls._outline(read_arrays(cls.files()[0], cls.layout, cls.spelling))

    @classmethod
    def columns(cls, arrays: Arrays) -> Columns:
        """The columns of the attributes, ``group`` and ``test``, from all arrays but those of the pictures:
        the arrays themselves, unless a set overrides this."""
        return arrays

    @classmethod
    def official(cls, columns: Columns) -> NDArray[np.uint8] | None:
        """The official split (N,), an index into `leakrange.data.samples.SPLITS`."""
        return train_or_test(columns["test"]) if cls.official_split else None

    @classmethod
    def values(cls, arrays: Arrays) -> NDArray[np.uint8]:
        """The pictures, uint8 (N, H, W, C). Raises `DataUnavailable` where they contradict the layout."""
        return decode(arrays["jpeg"], arrays["offset"])

    @classmethod
    def _outline(cls, arrays: Arrays) -> Outline:
        columns = cls.columns(arrays)
        group = columns["group"].astype(np.int64) if "group" in columns else None
        return Outline(labels=cls.labels(columns), group=group, official=cls.official(columns))


class TrainTestSet(PackedSet):
    """A packed set of grey pictures with the arrays ``x_train``, ``y_train``, ``x_test`` and ``y_test``,
    officially split, of ten classes. Its one column is ``label``; the training pictures come first."""

    official_split = True
    layout: ClassVar[Layout] = layout_of(y_train="uint8", y_test="uint8")
    pictures = layout_of(x_train=("uint8", 3), x_test=("uint8", 3))

    @classmethod
    def columns(cls, arrays: Arrays) -> Columns:
        """The labels, and which of them are of test pictures."""
        train, test = arrays["y_train"], arrays["y_test"]
        label = require_range("y_train, y_test", np.concatenate([train, test]), 0, 9)
        return {"label": label, "test": np.arange(len(label)) >= len(train)}

    @classmethod
    def values(cls, arrays: Arrays) -> NDArray[np.uint8]:
        """Training pictures, then the test pictures. Raises `DataUnavailable` if they differ in size or
        labels are missing."""
        train, test = arrays["x_train"], arrays["x_test"]
        counts = [(len(arrays[f"x_{part}"]), len(arrays[f"y_{part}"])) for part in ("train", "test")]
        if train.shape[1:] != test.shape[1:] or any(images != labels for images, labels in counts):
            raise DataUnavailable("training and test arrays do not fit together", hint=PACK_AGAIN)
        return np.concatenate([train, test])[..., None]


def read_arrays(path: Path, layout: Layout, spelling: Spelling = NOTHING) -> dict[str, NDArray[Any]]:
    """The arrays of ``layout`` from an ``.npz``, checked for dtype and axes, and those of ``spelling``,
    checked for the names in them.

    Raises `DataUnavailable` with the file's name and its mistake.
    """
    layout = {**layout, **dict.fromkeys(spelling, ("str", 1))}
    try:
        with path.open("rb") as file:
            arrays = stored_arrays(file, layout)
    except (*UNREADABLE, MemoryError) as broken:
        raise DataUnavailable(f"{path} cannot be read: {broken}", hint=PACK_AGAIN) from broken
    if missing := sorted(set(layout) - set(arrays)):
        raise DataUnavailable(f"{path} lacks the arrays: {', '.join(missing)}", hint=PACK_AGAIN)
    for name, (dtype, axes) in layout.items():
        array = arrays[name]
        fits = array.dtype.kind == "U" if dtype == "str" else array.dtype == np.dtype(dtype)
        if not fits or array.ndim != axes:
            form = f"{array.dtype} with {array.ndim} axes"
            raise DataUnavailable(f"{path}: {name!r} is {form}, not {dtype} with {axes}", hint=PACK_AGAIN)
    for name, classes in spelling.items():
        require_classes(name, arrays[name], classes)
    return arrays


def pieces(joined: NDArray[Any], offset: NDArray[np.int64], complaint: str) -> list[NDArray[Any]]:
    """The parts (m, ...) of an array (M, ...) from each offset to the next one. Raises `DataUnavailable` with
    the ``complaint`` for offsets that lie outside or do not ascend."""
    if len(offset) < 2 or offset[0] < 0 or offset[-1] > len(joined) or (np.diff(offset) <= 0).any():
        raise DataUnavailable(complaint, hint=PACK_AGAIN)
    return [joined[begin:end] for begin, end in pairwise(offset)]


def decode(jpeg: NDArray[np.uint8], offset: NDArray[np.int64]) -> NDArray[np.uint8]:
    """uint8 (N, H, W, 3) pictures from joined JPEG streams; picture i is ``jpeg[offset[i]:offset[i + 1]]``.

    Raises `DataUnavailable` for offsets outside the streams, a stream that is no JPEG, and pictures of
    different sizes.
    """
    streams = pieces(jpeg, offset, "the offsets do not cut the JPEG streams into pictures")
    pictures: NDArray[np.uint8] | None = None
    for i, stream in enumerate(streams):
        try:
            with Image.open(io.BytesIO(stream.tobytes()), formats=("JPEG",)) as opened:
                picture = np.asarray(opened.convert("RGB"))
        except (OSError, Image.DecompressionBombError) as broken:
            raise DataUnavailable(f"picture {i} is not a JPEG: {broken}", hint=PACK_AGAIN) from broken
        if pictures is None:
            pictures = np.empty((len(streams), *picture.shape), dtype=np.uint8)
        if picture.shape != pictures.shape[1:]:
            raise DataUnavailable(f"picture {i} has another size than the first", hint=PACK_AGAIN)
        pictures[i] = picture
    assert pictures is not None
    return pictures
