"""MotionSense as its authors publish it: windows of the motion of a phone in a trouser pocket."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from leakrange.data.catalogue import Content, PlacedSet, datasets
from leakrange.data.columns import PACK_AGAIN, Coded
from leakrange.data.recordings import Motion, windows
from leakrange.data.samples import by_name, train_or_test
from leakrange.wire.errors import DataUnavailable
from leakrange.wire.samples import SampleSpec

__all__ = ["PEOPLE", "STRIDE", "TRIALS", "WINDOW", "MotionSense", "MotionSenseSix"]

WINDOW = 128
"""Steps of a sample: 2.56 seconds."""
STRIDE = 10
RATE = 50.0
TRIALS = MappingProxyType(
    {"dws": (1, 2, 11), "ups": (3, 4, 12), "wlk": (7, 8, 15), "jog": (9, 16), "sit": (5, 13), "std": (6, 14)}
)
"""Trials of each activity: downstairs, upstairs, walking, jogging, sitting, standing."""
SHORT = 11
"""The first of the short trials, which are test."""
PEOPLE = tuple(str(number) for number in range(1, 25))
MAGNITUDES = ("rotationRate", "userAcceleration")
"""Radians a second, and g, without gravity."""
TRIAL = re.compile(r"([a-z]{3})_([0-9]{1,2})")
PERSON = re.compile(r"sub_([0-9]{1,2})\.csv")


class MotionSenseSet(PlacedSet):
    """24 people, who do each activity in two or three trials."""

    folder = "motionsense"
    person = "person"
    activities: ClassVar[tuple[str, ...]]
    spec = SampleSpec(
        encoding="series",
        shape=(WINDOW, len(MAGNITUDES)),
        dtype="float32",
        # Of the rotation as the authors' code prints them for the training trials; of the acceleration
        # estimated from what it prints with gravity.
        scale=(1.42, 0.6),
        offset=(-2.21 / 1.42, -0.75 / 0.6),
        rate=RATE,
    )
    source = "Malekzadeh et al., 2019, mmalekzadeh/motion-sense on GitHub; MIT"
    official_split = True
    layouts = (
        ("data/data_subjects_info.csv", "data/A_DeviceMotion_data"),
        ("data_subjects_info.csv", "A_DeviceMotion_data"),
    )
    notes = (
        "the authors' split by trial: long trials (1 to 9) are for training, short ones (11 to 16) are test",
        "the same 24 people are on both sides: gender is told by the person",
        "windows overlap by 92 %; a window's group is its recording, and none reaches over its end",
        "MaSS and PASS have 74,324 windows of four activities, some of which go from one trial to the next",
    )

    @classmethod
    def opened(cls, paths: tuple[Path, ...]) -> Content:
        """The windows by activity, person, trial and time."""
        genders = _genders(paths[0])
        recordings = _recordings(paths[1], cls.activities)
        if missing := sorted({each.person for each in recordings} - set(genders)):
            people = ", ".join(PEOPLE[person] for person in missing)
            raise DataUnavailable(f"{paths[0]} says nothing of person {people}", hint=PACK_AGAIN)
        values, group, columns = windows(recordings, WINDOW, STRIDE, paths[1])
        gender = np.array([genders[person] for person in columns["person"]])
        return Content(
            values=values,
            labels=cls.labels({**columns, "gender": gender}),
            group=group,
            official=train_or_test(columns["turn"] >= SHORT),
        )


@datasets.register("motionsense")
class MotionSense(MotionSenseSet):
    """The four activities of PASS and MaSS, which leave sitting and standing out."""

    name = "motionsense"
    description = "walking, jogging and stairs with a phone in the pocket; gender and person are hidden"
    activities = ("dws", "ups", "wlk", "jog")
    attributes = by_name(
        Coded("activity", activities, "what is done"),
        Coded("gender", ("female", "male"), "of who does it"),
        Coded("person", PEOPLE, "who does it"),
    )


@datasets.register("motionsense-six")
class MotionSenseSix(MotionSenseSet):
    """All activities of the set."""

    name = "motionsense-six"
    description = "the same with sitting and standing"
    activities = tuple(TRIALS)
    attributes = by_name(
        Coded("activity", activities, "what is done"),
        *(MotionSense.attributes[name] for name in ("gender", "person")),
    )


def _recordings(folder: Path, activities: tuple[str, ...]) -> list[Motion]:
    """The recordings: a folder for each trial, a file for each person; other files there are ignored.

    Raises `DataUnavailable` where there are none, or for a trial or person that the set does not have.
    """
    recordings = []
    for path in folder.glob("*_*/sub_*.csv"):
        trial, person = TRIAL.fullmatch(path.parent.name), PERSON.fullmatch(path.name)
        if trial is None or person is None:
            continue
        activity, number = trial[1], int(trial[2])
        if number not in TRIALS.get(activity, ()) or person[1] not in PEOPLE:
            raise DataUnavailable(
                f"{path}: the set has no such trial or person",
                hint="trials are dws_1 to jog_16, people 1 to 24: unpack the authors' archive again",
            )
        if activity in activities:
            recordings.append(
                Motion(activities.index(activity), PEOPLE.index(person[1]), number, _signal(path))
            )
    if not recordings:
        raise DataUnavailable(
            f"{folder} holds no recordings such as dws_1/sub_1.csv",
            hint="unpack the authors' A_DeviceMotion_data.zip, so that dws_1 lies in this folder",
        )
    return recordings


def _signal(path: Path) -> NDArray[np.float32]:
    """The magnitudes (steps, 2) of a file with a line of column names; the first column has none."""
    axes = [f"{sensor}.{axis}" for sensor in MAGNITUDES for axis in "xyz"]
    try:
        with path.open(encoding="ascii") as file:
            columns = [name.strip().strip('"') for name in file.readline().split(",")]
            if missing := [name for name in axes if name not in columns]:
                raise DataUnavailable(f"{path} has no column {', '.join(missing)}", hint=PACK_AGAIN)
            places = [columns.index(name) for name in axes]
            # no lines at all are told below, and are no reason for a warning
            lines = file.readlines()
        steps = np.loadtxt(lines, delimiter=",", usecols=places, ndmin=2) if lines else np.empty((0, 6))
    except (OSError, ValueError) as broken:
        raise DataUnavailable(f"{path} cannot be read: {broken}", hint=PACK_AGAIN) from broken
    if not np.isfinite(steps).all() or not len(steps):
        raise DataUnavailable(f"{path} has no steps, or some that are not finite", hint=PACK_AGAIN)
    return np.asarray(np.linalg.norm(steps.reshape(-1, len(MAGNITUDES), 3), axis=2), dtype=np.float32)


def _genders(path: Path) -> Mapping[int, int]:
    """Gender by person (0 to 23): 0 for a woman, 1 for a man, as in the authors' table."""
    try:
        columns, *lines = [line.split(",") for line in path.read_text(encoding="ascii").split()]
        code, gender = columns.index("code"), columns.index("gender")
        genders = {PEOPLE.index(line[code]): ("0", "1").index(line[gender]) for line in lines}
    except (OSError, ValueError, IndexError) as broken:
        raise DataUnavailable(
            f"{path} does not say code (1 to 24) and gender (0 or 1) of each person: {broken}",
            hint=PACK_AGAIN,
        ) from broken
    return genders
