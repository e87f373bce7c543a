"""HMP, human motion primitives: windows of a wrist's acceleration, packed or as the authors' folders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, PlacedSet, datasets
from leakrange.data.columns import PACK_AGAIN, Coded, require_range
from leakrange.data.packed import layout_of, pieces, read_arrays
from leakrange.data.recordings import Motion, windows
from leakrange.data.samples import by_name, train_or_test
from leakrange.wire.errors import DataUnavailable
from leakrange.wire.samples import SampleSpec

__all__ = ["ACTIVITIES", "MALE", "PEOPLE", "STRIDE", "WINDOW", "Hmp", "HmpRecordings"]

WINDOW = 128
"""Steps of a sample, as PASS cuts its motion data: four seconds."""
STRIDE = 64
RATE = 32.0
LEVELS = 63
"""The highest level of a signal, uint8 (steps, 3): level 0 is -1.5 g, this one 1.5 g."""
ACTIVITIES = (
    "brush_teeth", "climb_stairs", "comb_hair", "descend_stairs", "drink_glass", "eat_meat", "eat_soup",
    "getup_bed", "liedown_bed", "pour_water", "sitdown_chair", "standup_chair", "use_telephone", "walk",
)  # fmt: skip
PEOPLE = (*(f"f{i}" for i in range(1, 6)), *(f"m{i}" for i in range(1, 12)))
"""Names of the five women and eleven men."""
MALE = np.array([person.startswith("m") for person in PEOPLE])
NAME = re.compile(r"Accelerometer-([0-9-]{19})-([a-z_]+)-([fm][0-9]+)\.txt")
LAYOUT = layout_of(signal=("uint8", 2), offset="int64", activity="uint8", person="uint8", start="str")
SPELLING = MappingProxyType({"activities": ACTIVITIES, "people": PEOPLE})


class MotionSet(PlacedSet):
    """Windows of 838 recordings of 16 people, who do 14 everyday things."""

    folder = "hmp"
    tested: ClassVar[tuple[str, ...]] = ()
    """The people of the official test; where there are none the split is drawn."""
    person = "person"
    attributes = by_name(
        Coded("activity", ACTIVITIES, "what is done"),
        Coded("gender", ("female", "male"), "of who does it", column="person", into=MALE.tolist()),
        Coded("person", PEOPLE, "who does it"),
    )
    # Mean and deviation of every axis over all recordings.
    spec = SampleSpec(
        encoding="series",
        shape=(WINDOW, 3),
        dtype="float32",
        scale=(0.579, 0.366, 0.395),
        offset=(0.562, -0.874, -1.247),
        rate=RATE,
    )
    source = "Bruno, Mastrogiovanni and Sgorbissa, University of Genoa, 2014; for one's own research only"
    layouts = (("hmp.npz",), ("HMP_Dataset",))

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The windows by activity, person and time, which overlap by half; the group of a window is its
        recording."""
        recordings = _from_folder(paths[0]) if paths[0].is_dir() else _from_file(paths[0])
        levels, group, columns = windows(recordings, WINDOW, STRIDE, paths[0])
        tested = np.isin(columns["person"], [PEOPLE.index(name) for name in cls.tested])
        return Content(
            values=(levels.astype(np.float32) * np.float32(3 / LEVELS) - np.float32(1.5)),
            labels=cls.labels(columns),
            group=group,
            official=train_or_test(tested) if cls.tested else None,
        )


@datasets.register("hmp")
class Hmp(MotionSet):
    """The set for inferring gender: the four people of the test are in no other split.

    A person seen in training would be recognised, and the gender with the person. Auxiliary and validation
    windows are of the twelve others, cut by recording.
    """

    name = "hmp"
    description = "everyday motions at the wrist; the gender of people not seen before is hidden"
    tested = ("f3", "f4", "m2", "m3")
    """Two women and two men with a fifth of all windows, who do twelve of the fourteen things between
    them."""
    official_split = True
    notes = (
        "the split is Leakrange's own: f3, f4, m2 and m3 are test, whoever is asked after",
        "among the other twelve, f1 has three of five windows: gender and person are entangled",
        "nobody in the test eats; a window's group is its recording",
    )


@datasets.register("hmp-recordings")
class HmpRecordings(MotionSet):
    """The set for recognising a person: recordings, not people, are held out."""

    name = "hmp-recordings"
    description = "everyday motions at the wrist; which of 16 known people moves is hidden"
    notes = (
        "no official split: 20 % test, drawn by recording with the data seed",
        "f1 has 2,807 of the 5,721 windows, and some people do but one thing",
        "gender is told by the person here: for gender take 'hmp', whose test people are not seen before",
    )


def _from_file(path: Path) -> list[Motion]:
    arrays = read_arrays(path, LAYOUT, SPELLING)
    complaint = f"{path}: the offsets do not cut the signal into recordings"
    signals = pieces(_levels(path, arrays["signal"]), arrays["offset"], complaint)
    activity = require_range("activity", arrays["activity"], 0, len(ACTIVITIES) - 1)
    person = require_range("person", arrays["person"], 0, len(PEOPLE) - 1)
    start = arrays["start"]
    if not len(activity) == len(person) == len(start) == len(signals):
        raise DataUnavailable(
            f"{path}: activity, person and start are not one each a recording", hint=PACK_AGAIN
        )
    columns = zip(activity.tolist(), person.tolist(), start.tolist(), signals, strict=True)
    return [Motion(*each) for each in columns]


def _from_folder(folder: Path) -> list[Motion]:
    """The recordings of the unpacked archive: a folder for each activity, a text file for each recording. Its
    folders ``..._MODEL``, which hold copies, and other files are ignored."""
    recordings = []
    for path in folder.glob("*/Accelerometer-*.txt"):
        name = NAME.fullmatch(path.name)
        if name is None or path.parent.name.endswith("_MODEL"):
            continue
        activity, person = _known(path, name[2], ACTIVITIES), _known(path, name[3], PEOPLE)
        recordings.append(Motion(activity, person, name[1], _signal(path)))
    if not recordings:
        raise DataUnavailable(
            f"{folder} holds no recordings such as Walk/Accelerometer-2011-03-24-09-51-07-walk-f1.txt",
            hint="unpack the archive HMP_Dataset there as it is",
        )
    return recordings


def _known(path: Path, name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise DataUnavailable(f"{path}: {name!r} is none of {', '.join(names)}", hint=PACK_AGAIN)
    return names.index(name)


def _signal(path: Path) -> NDArray[np.uint8]:
    """The levels of a file with three of them a line. Raises `DataUnavailable` for anything else."""
    try:
        levels = np.array(path.read_text(encoding="ascii").split(), dtype=np.int64)
    except (OSError, ValueError) as broken:
        raise DataUnavailable(f"{path} cannot be read: {broken}", hint=PACK_AGAIN) from broken
    if not len(levels) or len(levels) % 3:
        raise DataUnavailable(f"{path} does not hold three numbers a line", hint=PACK_AGAIN)
    return _levels(path, levels.reshape(-1, 3))


def _levels(path: Path, levels: NDArray[np.int64] | NDArray[np.uint8]) -> NDArray[np.uint8]:
    if levels.shape[1] != 3 or levels.min() < 0 or levels.max() > LEVELS:
        raise DataUnavailable(f"{path} does not hold three levels 0..{LEVELS} a step", hint=PACK_AGAIN)
    return levels.astype(np.uint8)
