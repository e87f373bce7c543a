"""People's photographs as their archives unpack: a folder for each person, its pictures JPEG or PNG files.

Such archives hold more than fits into memory. So people, and pictures of each person, are drawn before any
picture is opened; pictures are opened one at a time; and the result has a size limit, `MOST_BYTES`.
"""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from leakrange.data.catalogue import Content, DataSet
from leakrange.data.people import Casting, cast
from leakrange.data.splits import shuffled, stream
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable, InvalidInput
from leakrange.wire.pictures import resized
from leakrange.wire.samples import SampleSpec

__all__ = [
    "AlbumSet",
    "compacted",
    "data_folder",
    "decoded",
    "draw_pictures",
    "person_folders",
    "read_pictures",
    "squared",
    "text_lines",
]

MOST_BYTES = 4 * 2**30
"""Largest size of one set's pixels, at the size asked for, a byte per channel."""
MOST_PIXELS = 2**26
"""Largest number of pixels of one picture, as its header declares it."""
FORMATS = ("JPEG", "PNG")
ENDINGS = (".jpeg", ".jpg", ".png")
"""Endings of pictures' names, in any case. Other files in a person's folder are ignored."""


class AlbumSet(DataSet):
    """People in folders of their own, at most ``people`` of them, drawn and cast by the data seed.

    Members' pictures are the training images (with the share for ``validation`` out of them), all others test
    images; give a share of 0 for ``auxiliary``, since the public serves for that.
    """

    person = "person"
    spec = SampleSpec.picture(64, 64, 3)
    official_split = True
    people: ClassVar[int]
    casting: ClassVar[Casting]
    layout: ClassVar[str]
    """What to unpack, and an example of where its pictures then lie."""
    gender_files: ClassVar[str]
    """The files beside the people's folders that say genders."""

    @classmethod
    @abstractmethod
    def root(cls) -> Path | None:
        """The folder of the unpacked archive; None where there is none."""

    @classmethod
    @abstractmethod
    def folders(cls, root: Path) -> Mapping[str, Sequence[Path]]:
        """Everybody's folders. Raises `DataUnavailable` where there are none."""

    @classmethod
    @abstractmethod
    def genders(cls, root: Path) -> Mapping[str, int]:
        """Gender, 0 female, 1 male, by a picture's `known_as`; empty without the files that say it. Raises
        `DataUnavailable` where these are broken."""

    @classmethod
    def origin(cls, root: Path) -> tuple[str, ...]:  # noqa: ARG003
        """Notes on the folder that is read, if there are several that could be."""
        return ()

    @classmethod
    def known_as(cls, picture: Path) -> str:
        """The name under which a picture's gender is known: its person's, unless a set overrides this."""
        return picture.parent.name

    @classmethod
    def further(cls, pictures: Sequence[Path]) -> dict[str, NDArray[np.int64]]:  # noqa: ARG003
        """Labels (N,) of the set's attributes beside gender and those that casting gives."""
        return {}

    @classmethod
    def available(cls) -> str | None:
        """None where there is a folder (whether it is whole shows when it is loaded)."""
        if cls.root() is not None:
            return None
        return f"unpack {cls.layout}, lies in the folder that LEAKRANGE_DATA names"

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        """The people as ``spec.seed`` draws and casts them, at ``spec.size``. If genders are known, half of a
        student's people are of either.

        Raises as `folders`, `genders`, `draw_pictures`, `read_pictures` and `cast` do.
        """
        root = cls.root()
        if root is None:
            raise DataUnavailable(f"data set {cls.name!r} cannot be loaded: {cls.available()}")
        known = cls.genders(root)
        albums = draw_pictures(cls.folders(root), cls.people, cls.casting, spec.seed)
        paths = [path for album in albums.values() for path in album]
        person = np.repeat(np.arange(len(albums)), [len(album) for album in albums.values()])
        gender = np.array([known.get(cls.known_as(path), -1) for path in paths], dtype=np.int64)
        halves = gender if known else None
        # A first casting fails early where there are too few people, before minutes are spent on pictures.
        cast(person, np.arange(len(paths)), cls.casting, spec.seed, halves)
        images, group = read_pictures(paths, spec.size or cls.spec.shape[0])
        roles = cast(person, group, cls.casting, spec.seed, halves)
        notes = cls.origin(root)
        if not known:
            notes += (f"without {cls.gender_files}: nobody's gender is known",)
        outline = roles.outline({"gender": gender, **cls.further(paths)}, group, notes)
        return outline.with_values(compacted(images, roles.kept))


def data_folder(*names: str) -> Path | None:
    """The first of these folders that exists in ``LEAKRANGE_DATA``; None where none does."""
    root = os.environ.get("LEAKRANGE_DATA")
    folders = [Path(root) / name for name in names] if root else []
    return next((folder for folder in folders if folder.is_dir()), None)


def person_folders(folder: Path) -> dict[str, Path]:
    """The folders in ``folder`` by name, without hidden ones. Raises `DataUnavailable` where there are
    none."""
    folders = {entry.name: Path(entry.path) for entry in _listed(folder) if entry.is_dir()}
    if not folders:
        raise DataUnavailable(
            f"{folder} holds no folders, one for each person", hint="unpack the archive there as it is"
        )
    return folders


def draw_pictures(
    folders: Mapping[str, Sequence[Path]], people: int, casting: Casting, seed: int
) -> dict[str, list[Path]]:
    """The pictures to read, by person: of at most so many people, who have ``casting.fewest`` or more in
    their folders, at most ``casting.most`` each; both drawn by ``seed``, and sorted by name.

    The search ends when there are enough people, so not all of millions of pictures are listed. Raises
    `DataUnavailable` for a folder without pictures.
    """
    names = sorted(folders)
    drawn: dict[str, list[Path]] = {}
    for place in shuffled(stream(seed, "people"), len(names)):
        name = names[place]
        pictures = [picture for folder in folders[name] for picture in _pictures(folder)]
        if len(pictures) < casting.fewest:
            continue
        # A stream for each person, so that the pictures of one do not depend on the others.
        order = shuffled(stream(seed, f"pictures of {name}"), len(pictures))
        drawn[name] = [pictures[i] for i in np.sort(order[: casting.most])]
        if len(drawn) == people:
            break
    return dict(sorted(drawn.items()))


def read_pictures(paths: Sequence[Path], size: int) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The pictures, uint8 (N, size, size, 3), and their groups, int64 (N,): equal for pictures that are equal
    before they are scaled.

    Of each the square in the middle is taken, and scaled as `leakrange.wire.pictures.resized` does. Raises
    `InvalidInput` where they would take more than `MOST_BYTES`, `DataUnavailable` for a broken picture.
    """
    total_bytes = len(paths) * size * size * 3
    if total_bytes > MOST_BYTES:
        raise InvalidInput(
            f"{len(paths)} pictures of {size} x {size} pixels take {total_bytes / 2**30:.1f} GiB; "
            f"at most {MOST_BYTES / 2**30:g} are read",
            hint="choose a smaller 'size'",
        )
    images = np.empty((len(paths), size, size, 3), dtype=np.uint8)
    group = np.empty(len(paths), dtype=np.int64)
    groups: dict[bytes, int] = {}
    for number, path in enumerate(paths):
        picture = decoded(path, str(path), FORMATS)
        content = hashlib.sha256(repr(picture.shape).encode() + picture.tobytes()).digest()
        group[number] = groups.setdefault(content, number)
        images[number] = squared(picture, size)
    return images, group


def compacted(images: NDArray[np.uint8], kept: NDArray[np.int64]) -> NDArray[np.uint8]:
    """``images[kept]``, for ascending ``kept``, without a second copy in memory."""
    for place, number in enumerate(kept):
        images[place] = images[number]
    return images[: len(kept)]


def text_lines(path: Path) -> list[str]:
    """The lines of a small text file, without spaces around them. Raises `DataUnavailable` where it cannot be
    read."""
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise DataUnavailable(
            f"{path} cannot be read: {error}", hint="download it again; it is UTF-8 text"
        ) from error


def _listed(folder: Path) -> list[os.DirEntry[str]]:
    """The entries of a folder, sorted by name, since file systems differ in their order."""
    try:
        with os.scandir(folder) as entries:
            return sorted((e for e in entries if not e.name.startswith(".")), key=lambda e: e.name)
    except OSError as error:
        raise DataUnavailable(
            f"the folder {folder} cannot be read: {error.strerror}",
            hint="unpack the archive there, readable for whoever runs this",
        ) from error


def _pictures(folder: Path) -> list[Path]:
    pictures = [Path(entry.path) for entry in _listed(folder) if entry.name.lower().endswith(ENDINGS)]
    if not pictures:
        raise DataUnavailable(
            f"the folder {folder} holds no pictures (*{', *'.join(ENDINGS)})",
            hint="delete it, or unpack the archive again: a person's pictures lie in the person's folder",
        )
    return pictures


def decoded(file: Path | IO[bytes], name: str, formats: tuple[str, ...]) -> NDArray[np.uint8]:
    """The picture of a file in one of Pillow's ``formats``, uint8 (H, W, 3); messages call it ``name``.
    Raises `DataUnavailable` for a broken one, and for one of more than `MOST_PIXELS`."""
    hint = "put a whole copy of the picture there, or delete it"
    try:
        with Image.open(file, formats=formats) as opened:
            width, height = opened.size  # from the header: nothing is decompressed yet
            if width * height <= MOST_PIXELS:
                return np.asarray(opened.convert("RGB"), dtype=np.uint8)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        pass
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, OverflowError) as error:
        named = " or ".join([", ".join(formats[:-1]), formats[-1]])
        raise DataUnavailable(f"{name} is not a {named} that can be read: {error}", hint=hint) from error
    raise DataUnavailable(f"{name} declares more than {MOST_PIXELS} pixels", hint=hint)


def squared(picture: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """The square in the middle of a picture (H, W, C), scaled to (size, size, C) as `resized` does."""
    height, width, _ = picture.shape
    side = min(height, width)
    top, left = (height - side) // 2, (width - side) // 2
    middle = picture[np.newaxis, top : top + side, left : left + side]
    scaled: NDArray[np.uint8] = resized(middle, size)[0]
    return scaled
