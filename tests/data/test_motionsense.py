"""MotionSense in the layout of its authors: windows of magnitudes, split by trial."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.data import load, load_labels
from leakrange.data.sets.motionsense import STRIDE, WINDOW
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from tests.data.labels import same_but_the_images

TEST = 3
COLUMNS = (
    "attitude.roll", "attitude.pitch", "attitude.yaw", "gravity.x", "gravity.y", "gravity.z",
    "rotationRate.x", "rotationRate.y", "rotationRate.z",
    "userAcceleration.x", "userAcceleration.y", "userAcceleration.z",
)  # fmt: skip
PEOPLE = {2: 1, 3: 0, 10: 0, 24: 0}
"""Their genders."""
RECORDED = [
    (activity, trial, person)
    for activity, trials in {"jog": (9, 16), "dws": (1, 2, 11), "std": (6, 14), "sit": (5,)}.items()
    for trial in trials
    for person in PEOPLE
]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    return tmp_path


@cache
def signals() -> dict[tuple[str, int, int], NDArray[np.float64]]:
    """Of different lengths, one shorter than a window."""
    rng = np.random.default_rng(0)
    lengths = [WINDOW - 1, WINDOW, *rng.integers(WINDOW, 2 * WINDOW, len(RECORDED) - 2)]
    return {which: rng.normal(0, 2, (n, 12)) for which, n in zip(RECORDED, lengths, strict=True)}


def describe(folder: Path, people: dict[int, int]) -> Path:
    lines = [f"{code},{60 + code},{150 + code},{20 + code},{gender}" for code, gender in people.items()]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "data_subjects_info.csv"
    path.write_text("\n".join(["code,weight,height,age,gender", *lines]))
    return path


def write(path: Path, signal: NDArray[np.float64]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join([str(i), *(f"{value:.6f}" for value in step)]) for i, step in enumerate(signal)]
    path.write_text("\n".join([",".join(["", *COLUMNS]), *lines]) + "\n")


def unpack(root: Path, inner: str = "data") -> Path:
    folder = root / "motionsense" / inner
    describe(folder, {**PEOPLE, 1: 1})
    for (activity, trial, person), signal in signals().items():
        write(folder / "A_DeviceMotion_data" / f"{activity}_{trial}" / f"sub_{person}.csv", signal)
    (folder / "A_DeviceMotion_data" / "dws_1" / "notes.txt").write_text("passed over")
    return folder / "A_DeviceMotion_data"


def count(signal: NDArray[np.float64]) -> int:
    return len(range(0, len(signal) - WINDOW + 1, STRIDE))


@pytest.mark.parametrize(
    ("name", "activities"),
    [("motionsense", ["dws", "ups", "wlk", "jog"]),
     ("motionsense-six", ["dws", "ups", "wlk", "jog", "sit", "std"])],
)  # fmt: skip
def test_a_window_has_the_magnitudes_of_its_recording(root: Path, name: str, activities: list[str]) -> None:
    unpack(root)
    found = load(DataSpec(name=name))
    same_but_the_images(load_labels(DataSpec(name=name)), found)
    assert list(found.attributes["activity"].classes) == activities
    chosen = [which for which in RECORDED if which[0] in activities]
    chosen.sort(key=lambda which: (activities.index(which[0]), which[2], which[1]))
    place = 0
    for which in chosen:
        activity, trial, person = which
        signal = signals()[which]
        turning = np.sqrt((signal[:, 6:9] ** 2).sum(axis=1))
        moving = np.sqrt((signal[:, 9:12] ** 2).sum(axis=1))
        for begin in range(0, len(signal) - WINDOW + 1, STRIDE):
            expected = np.stack([turning, moving], axis=1)[begin : begin + WINDOW]
            np.testing.assert_allclose(found.values[place], expected, atol=1e-5)
            told = {attribute: labels[place] for attribute, labels in found.labels.items()}
            wanted = {"gender": PEOPLE[person], "person": person - 1}
            assert told == {"activity": activities.index(activity), **wanted}
            assert (found.split[place] == TEST) == (trial > 10)
            place += 1
    assert place == len(found) == sum(count(signals()[which]) for which in chosen)


def test_windows_of_one_recording_stay_together(root: Path) -> None:
    unpack(root)
    found = load(DataSpec(name="motionsense", auxiliary=0.3, validation=0.2))
    assert set(found.split) == {0, 1, 2, TEST}
    for number in np.unique(found.group):
        assert len(set(found.split[found.group == number])) == 1


def test_a_clone_and_its_unpacked_data_are_the_same(root: Path) -> None:
    unpack(root)
    cloned = load(DataSpec(name="motionsense"))
    (root / "motionsense" / "data").rename(root / "elsewhere")
    with pytest.raises(DataUnavailable, match=r"data_subjects_info\.csv and motionsense/A_DeviceMotion_data"):
        load(DataSpec(name="motionsense", limit=9_000))  # the first is remembered
    unpack(root, ".")
    assert load(DataSpec(name="motionsense", limit=10_000)).fingerprint == cloned.fingerprint


@pytest.mark.parametrize(
    ("where", "text", "says"),
    [
        ("dws_1/sub_2.csv", ",rotationRate.x\n0,1.0\n", r"no column rotationRate\.y"),
        ("dws_1/sub_2.csv", f",{','.join(COLUMNS)}\n0{',x' * 12}\n", "cannot be read"),
        ("dws_1/sub_2.csv", f",{','.join(COLUMNS)}\n0{',nan' * 12}\n", "not finite"),
        ("dws_1/sub_2.csv", f",{','.join(COLUMNS)}\n", "has no steps"),
        ("dws_9/sub_2.csv", "", "no such trial or person"),
        ("run_1/sub_2.csv", "", "no such trial or person"),
        ("dws_1/sub_25.csv", "", "no such trial or person"),
    ],
)
def test_a_broken_recording_is_told(root: Path, where: str, text: str, says: str) -> None:
    path = unpack(root) / where
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    with pytest.raises(DataUnavailable, match=says):
        load(DataSpec(name="motionsense"))


def test_a_table_of_people_that_does_not_do(root: Path) -> None:
    folder = unpack(root).parent
    for people, says in (
        ({**PEOPLE, 10: 2}, "code .1 to 24. and gender .0 or 1."),
        ({**PEOPLE, 25: 1}, "code .1 to 24. and gender .0 or 1."),
        ({2: 1, 3: 0}, "says nothing of person 10, 24"),
    ):
        describe(folder, people)
        with pytest.raises(DataUnavailable, match=says):
            load(DataSpec(name="motionsense"))


def test_a_folder_without_recordings(root: Path) -> None:
    folder = describe(root / "motionsense", PEOPLE).parent / "A_DeviceMotion_data"
    write(folder / "A_DeviceMotion_data" / "dws_1" / "sub_2.csv", np.zeros((200, 12)))
    with pytest.raises(DataUnavailable, match=r"holds no recordings such as dws_1/sub_1\.csv"):
        load(DataSpec(name="motionsense"))
