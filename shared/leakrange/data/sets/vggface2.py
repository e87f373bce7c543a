"""VGGFace2 as its archives unpack, its people cast into the parts of a face recognition service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import datasets
from leakrange.data.folders import AlbumSet, data_folder, person_folders, text_lines
from leakrange.data.people import Casting, people_attributes
from leakrange.data.samples import Attribute
from leakrange.wire.errors import DataUnavailable

__all__ = ["VGGFace2"]

FOLDER = "vggface2"
METADATA = "identity_meta.csv"
PARTS = ("train", "test")
CASTING = Casting(students=20, outsiders=100, public=280)
PEOPLE = 900
"""Number of people drawn of the 9,131: with thirty pictures each they take 330 MB at 64 pixels, 2 GB at
160."""


@datasets.register("vggface2")
class VGGFace2(AlbumSet):
    """900 people of VGGFace2, at most thirty pictures of each, the square in the middle of each picture.

    The original folders lie in ``$LEAKRANGE_DATA/vggface2``: ``train/n000002/0001_01.jpg`` and so on,
    likewise in ``test``, and, if genders are to be known, ``identity_meta.csv``. One of ``train`` and
    ``test`` is enough. The data seed draws the people and casts them: 500 members, on whom a teacher is
    trained, 100 outsiders, 20 people whom a student learns to recognise (ten of either gender, where it is
    known), 280 of the public; with fewer people, members are missing first.
    """

    name = "vggface2"
    description = "faces of 900 people of VGGFace2, cast as members and others (FACELEAKS)"
    people, casting = PEOPLE, CASTING
    attributes = people_attributes(
        PEOPLE,
        CASTING,
        Attribute("gender", ("female", "male"), "-1 where identity_meta.csv does not say"),
        Attribute("part", PARTS, "the part of VGGFace2 that the person belongs to"),
    )
    source = (
        "VGGFace2, Cao, Shen, Xie, Parkhi and Zisserman 2018, University of Oxford; research use, the "
        "photographs belong to their owners"
    )
    notes = (
        f"{PEOPLE} of 9,131 people, drawn with the data seed, and at most {CASTING.most} pictures of each; "
        "the square in the middle of each",
        "a model whose weights were published after training on VGGFace2 knows everybody of its part 'train'",
        "only pictures that are equal pixel by pixel count as copies",
    )

    layout = f"VGGFace2 so that {FOLDER}/train/n000002/0001_01.jpg, and the like"
    gender_files = METADATA

    @classmethod
    def root(cls) -> Path | None:
        """See `AlbumSet.root`; one of the two parts is enough."""
        part = data_folder(*(f"{FOLDER}/{name}" for name in PARTS))
        return None if part is None else part.parent

    @classmethod
    def folders(cls, root: Path) -> Mapping[str, Sequence[Path]]:
        """See `AlbumSet.folders`; a person in both parts of a copy is one person all the same."""
        folders: dict[str, list[Path]] = {}
        for part in PARTS:
            if (root / part).is_dir():
                for name, folder in person_folders(root / part).items():
                    folders.setdefault(name, []).append(folder)
        return folders

    @classmethod
    def genders(cls, root: Path) -> Mapping[str, int]:
        """See `AlbumSet.genders`."""
        return _genders(root / METADATA)

    @classmethod
    def further(cls, pictures: Sequence[Path]) -> dict[str, NDArray[np.int64]]:
        """The part that each picture lies in."""
        return {"part": np.array([PARTS.index(path.parent.parent.name) for path in pictures])}


def _genders(path: Path) -> Mapping[str, int]:
    """Gender by person: 0 female, 1 male; empty where there is no such file."""
    if not path.exists():
        return {}
    lines = text_lines(path)
    header = _fields(lines[0] if lines else "")
    if header[0] != "Class_ID" or "Gender" not in header:
        raise DataUnavailable(
            f"{path} does not begin with the line 'Class_ID, Name, Sample_Num, Flag, Gender'",
            hint="download it again; without the file nobody's gender is known, and all else works",
        )
    # Counted from the right, since names hold commas.
    column = header.index("Gender") - len(header)
    codes = {"f": 0, "m": 1}
    genders: dict[str, int] = {}
    for number, line in enumerate(lines[1:], start=2):
        fields = _fields(line)
        if fields == [""]:
            continue
        code = codes.get(fields[column]) if len(fields) >= len(header) else None
        if code is None or genders.setdefault(fields[0], code) != code:
            raise DataUnavailable(
                f"{path}, line {number}: {line!r} does not say once whether {fields[0]} is 'f' or 'm'",
                hint="mend or delete the line, or download the file again",
            )
    return genders


def _fields(line: str) -> list[str]:
    """The fields of a line, without the comma with which some copies end each line."""
    return [field.strip() for field in line.rstrip(", ").split(",")]
