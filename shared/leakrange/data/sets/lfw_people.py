"""LFW as its archives unpack, its people cast into the parts of a face recognition service."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from leakrange.data.catalogue import Content, DataSet, datasets
from leakrange.data.folders import (
    cast_content,
    data_folder,
    person_folders,
    text_lines,
)
from leakrange.data.people import Casting, people_attributes
from leakrange.data.samples import Attribute
from leakrange.data.sets.lfw import LFW
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from leakrange.wire.samples import SampleSpec

__all__ = ["LFWPeople"]

FOLDERS = ("lfw-deepfunneled", "lfw_funneled", "lfw")
"""Names of the archives' folders; `lfw` may hold the packed file instead, hence last."""
GENDERS = ("female", "male")
LISTS = tuple(f"{gender}_names.txt" for gender in GENDERS)
CASTING = Casting(students=10, outsiders=60, public=250, plenty=10)
PEOPLE = 610
"""Number of people with four pictures or more."""


@datasets.register("lfw-people")
class LFWPeople(DataSet):
    """The 610 people of LFW with four pictures or more, at most thirty of each.

    An archive's own folder lies in ``$LEAKRANGE_DATA``: ``lfw-deepfunneled``, else ``lfw_funneled``, else
    ``lfw``, and in it ``Aaron_Peirsol/Aaron_Peirsol_0001.jpg`` and so on. If genders are to be known, put the
    lists ``female_names.txt`` and ``male_names.txt`` of Afifi and Abdelhamed beside the people's folders. The
    data seed casts: 290 members, on whom a teacher is trained, 60 outsiders, 10 people whom a student learns
    to recognise (five of either gender, where it is known), 250 of the public. As in `people` the members'
    pictures are the training images, all others test images; give a share of 0 for ``auxiliary``.
    """

    name = "lfw-people"
    description = "faces of 610 people of LFW's own folders, cast as members and others (FACELEAKS)"
    person = "person"
    attributes = MappingProxyType(
        people_attributes(
            PEOPLE,
            PEOPLE - CASTING.students - CASTING.outsiders - CASTING.public,
            CASTING.students,
            Attribute("gender", GENDERS, "-1 where the lists do not say"),
        )
    )
    spec = SampleSpec.picture(64, 64, 3)
    source = LFW.source
    official_split = True
    notes = (
        f"of most members there are few pictures, of nobody more than {CASTING.most}",
        "whole photographs with their background, not the closer crops of the packed set",
        "only pictures that are equal pixel by pixel count as copies",
    )

    @classmethod
    def available(cls) -> str | None:
        """None where people's folders exist (whether they are whole shows when they are loaded)."""
        if _folder() is None:
            return (
                f"unpack an archive of LFW so that {FOLDERS[0]}/Aaron_Peirsol/Aaron_Peirsol_0001.jpg, and "
                f"the like (or in {' or '.join(FOLDERS[1:])}), lies in the folder that LEAKRANGE_DATA names"
            )
        return None

    @classmethod
    def read(cls, spec: DataSpec) -> Content:
        """The people as ``spec.seed`` casts them, at ``spec.size``.

        Raises as `cast_content` does, and `DataUnavailable` for broken lists of genders.
        """
        root = _folder()
        if root is None:
            raise DataUnavailable(f"data set {cls.name!r} cannot be loaded: {cls.available()}")
        folders = {name: [folder] for name, folder in person_folders(root).items()}
        genders = _genders(root)
        nobody = (f"without {' and '.join(LISTS)}: nobody's gender is known",)
        return cast_content(
            folders,
            PEOPLE,
            CASTING,
            spec,
            spec.size or cls.spec.shape[0],
            {"gender": lambda path: genders.get(path.name, -1)},
            by_gender=bool(genders),
            notes=(f"read from the folder {root.name}", *(() if genders else nobody)),
        )


def _folder() -> Path | None:
    """The first folder of an archive that holds more than the packed set's file."""
    folders = (data_folder(name) for name in FOLDERS)
    return next((folder for folder in folders if folder and any(p.is_dir() for p in folder.iterdir())), None)


def _genders(root: Path) -> Mapping[str, int]:
    """Gender by picture: 0 female, 1 male; empty where one of the lists is missing."""
    if not all((root / name).exists() for name in LISTS):
        return {}
    women, men = (set(text_lines(root / name)) - {""} for name in LISTS)
    if women & men or not women or not men:
        both = f"{min(women & men)} is in both" if women & men else "one is empty"
        raise DataUnavailable(
            f"the lists {' and '.join(LISTS)} in {root} are broken: {both}",
            hint="download them again; without them nobody's gender is known, and all else works",
        )
    return dict.fromkeys(women, 0) | dict.fromkeys(men, 1)
