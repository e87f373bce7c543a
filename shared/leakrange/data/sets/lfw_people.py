"""LFW as its archives unpack, its people cast into the parts of a face recognition service."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from leakrange.data.catalogue import datasets
from leakrange.data.folders import AlbumSet, data_folder, person_folders, text_lines
from leakrange.data.people import Casting, people_attributes
from leakrange.data.samples import Attribute
from leakrange.data.sets.lfw import LFW
from leakrange.wire.errors import DataUnavailable

__all__ = ["LFWPeople"]

FOLDERS = ("lfw-deepfunneled", "lfw_funneled", "lfw")
"""Names of the archives' folders; `lfw` may hold the packed file instead, hence last."""
LISTS = ("female_names.txt", "male_names.txt")
CASTING = Casting(students=10, outsiders=60, public=250, plenty=10)
PEOPLE = 610
"""Number of people with four pictures or more."""


@datasets.register("lfw-people")
class LFWPeople(AlbumSet):
    """The 610 people of LFW with four pictures or more, at most thirty of each.

    An archive's own folder lies in ``$LEAKRANGE_DATA``: ``lfw-deepfunneled``, else ``lfw_funneled``, else
    ``lfw``, and in it ``Aaron_Peirsol/Aaron_Peirsol_0001.jpg`` and so on. If genders are to be known, put the
    lists ``female_names.txt`` and ``male_names.txt`` of Afifi and Abdelhamed beside the people's folders. The
    data seed casts: 290 members, on whom a teacher is trained, 60 outsiders, 10 people whom a student learns
    to recognise (five of either gender, where it is known), 250 of the public.
    """

    name = "lfw-people"
    description = "faces of 610 people of LFW's own folders, cast as members and others (FACELEAKS)"
    people, casting = PEOPLE, CASTING
    attributes = people_attributes(
        PEOPLE, CASTING, Attribute("gender", ("female", "male"), "-1 where the lists do not say")
    )
    source = LFW.source
    notes = (
        f"of most members there are few pictures, of nobody more than {CASTING.most}",
        "whole photographs with their background, not the closer crops of the packed set",
        "only pictures that are equal pixel by pixel count as copies",
    )
    layout = (
        f"an archive of LFW so that {FOLDERS[0]}/Aaron_Peirsol/Aaron_Peirsol_0001.jpg, and the like (or in "
        f"{' or '.join(FOLDERS[1:])})"
    )
    gender_files = " and ".join(LISTS)

    @classmethod
    def root(cls) -> Path | None:
        """See `AlbumSet.root`: the first folder of an archive that holds more than the packed set's file."""
        folders = (data_folder(name) for name in FOLDERS)
        return next((each for each in folders if each and any(p.is_dir() for p in each.iterdir())), None)

    @classmethod
    def folders(cls, root: Path) -> Mapping[str, Sequence[Path]]:
        """See `AlbumSet.folders`."""
        return {name: [folder] for name, folder in person_folders(root).items()}

    @classmethod
    def origin(cls, root: Path) -> tuple[str, ...]:
        """Which of the archives is read."""
        return (f"read from the folder {root.name}",)

    @classmethod
    def known_as(cls, picture: Path) -> str:
        """The lists name pictures, not people."""
        return picture.name

    @classmethod
    def genders(cls, root: Path) -> Mapping[str, int]:
        """See `AlbumSet.genders`; both lists are needed."""
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
