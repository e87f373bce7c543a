"""Recorded and drawn motion: windows, who is held out, the two layouts of the recorded one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from leakrange.data import load, load_labels
from leakrange.data.sets.hmp import ACTIVITIES, MALE, PEOPLE, STRIDE, WINDOW
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from tests.data.labels import same_but_the_images
from tests.data.packing import Arrays, pack

TEST = 3
WHO = ("f1", "f3", "f4", "m1", "m2", "m3", "m11")
RECORDED = [
    (activity, person, f"2012-0{number}-06-08-5{number}-29")
    for number in (1, 2, 3)
    for person in WHO
    for activity in ("walk", "pour_water")
]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    return tmp_path


def signals() -> list[NDArray[np.uint8]]:
    """Of different lengths, one shorter than a window."""
    rng = np.random.default_rng(0)
    lengths = [WINDOW - 1, WINDOW, *rng.integers(WINDOW, 4 * WINDOW, len(RECORDED) - 2)]
    return [rng.integers(0, 64, (n, 3), dtype=np.uint8) for n in lengths]


def packed() -> Arrays:
    found = signals()
    return {
        "signal": np.concatenate(found),
        "offset": np.cumsum([0, *map(len, found)], dtype=np.int64),
        "activity": np.array([ACTIVITIES.index(activity) for activity, _, _ in RECORDED], dtype=np.uint8),
        "person": np.array([PEOPLE.index(person) for _, person, _ in RECORDED], dtype=np.uint8),
        "activities": np.array(ACTIVITIES),
        "people": np.array(PEOPLE),
        "start": np.array([start for _, _, start in RECORDED]),
    }


def unpack(root: Path) -> Path:
    """The same as the archive unpacks."""
    folder = root / "hmp" / "HMP_Dataset"
    for (activity, person, start), signal in zip(RECORDED, signals(), strict=True):
        for place in (activity.capitalize(), f"{activity.capitalize()}_MODEL"):
            path = folder / place / f"Accelerometer-{start}-{activity}-{person}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join("{:02d} {:02d} {:02d}\n".format(*step) for step in signal))
    (folder / "README.txt").write_text("what lies beside the recordings is passed over")
    return folder


@pytest.mark.parametrize("name", ["hmp", "hmp-recordings"])
def test_packed_and_unpacked_motion_is_the_same(root: Path, name: str) -> None:
    file = pack(root, "hmp", packed())
    first = load(DataSpec(name=name, auxiliary=0.2))
    file.unlink()
    unpack(root)
    second = load(DataSpec(name=name, auxiliary=0.2, limit=10_000))
    assert second.fingerprint == first.fingerprint
    assert len(first) == sum(
        (len(signal) - WINDOW) // STRIDE + 1 for signal in signals() if len(signal) >= WINDOW
    )
    same_but_the_images(load_labels(DataSpec(name=name, auxiliary=0.2)), first)


def test_a_window_is_a_part_of_its_recording_in_g(root: Path) -> None:
    pack(root, "hmp", packed())
    found = load(DataSpec(name="hmp"))
    order = sorted(range(len(RECORDED)), key=lambda i: (
        ACTIVITIES.index(RECORDED[i][0]), PEOPLE.index(RECORDED[i][1]), RECORDED[i][2]
    ))  # fmt: skip
    for number, place in enumerate(order):
        own = found.values[found.group == number]
        for window, begin in zip(own, range(0, 10_000, STRIDE), strict=False):
            levels = signals()[place][begin : begin + WINDOW]
            np.testing.assert_allclose(window, -1.5 + 3 * levels / 63, atol=1e-6)
        labels = {name: set(values[found.group == number].tolist()) for name, values in found.labels.items()}
        if len(own):
            activity, person, _ = RECORDED[place]
            assert labels["activity"] == {ACTIVITIES.index(activity)}
            assert labels["person"] == {PEOPLE.index(person)}
            assert labels["gender"] == {int(person.startswith("m"))}


def test_whose_gender_is_asked_was_not_seen_before(root: Path) -> None:
    pack(root, "hmp", packed())
    found = load(DataSpec(name="hmp", auxiliary=0.3))
    tested = {PEOPLE[i] for i in found.labels["person"][found.split == TEST]}
    others = {PEOPLE[i] for i in found.labels["person"][found.split != TEST]}
    assert tested == {"f3", "f4", "m2", "m3"}
    assert others == set(WHO) - tested
    assert MALE.sum() == 11


@pytest.mark.parametrize("name", ["hmp", "hmp-recordings"])
def test_windows_of_one_recording_stay_together(root: Path, name: str) -> None:
    pack(root, "hmp", packed())
    found = load(DataSpec(name=name, auxiliary=0.3, validation=0.2))
    assert set(found.split) == {0, 1, 2, TEST}
    for number in np.unique(found.group):
        assert len(set(found.split[found.group == number])) == 1


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"people": np.array(PEOPLE[::-1])}, "'people' should name"),
        ({"signal": np.full((20_000, 3), 64, dtype=np.uint8)}, "three levels"),
        ({"signal": np.zeros((9, 3), dtype=np.uint8)}, "offsets do not cut"),
        ({"start": np.array(["2012"])}, "not one each a recording"),
        ({"person": np.full(len(RECORDED), 16, dtype=np.uint8)}, "'person' holds values outside 0..15"),
    ],
    ids=["people", "levels", "offset", "start", "person"],
)
def test_a_packed_file_of_another_layout(root: Path, change: Arrays, says: str) -> None:
    pack(root, "hmp", packed() | change)
    with pytest.raises(DataUnavailable, match=says):
        load(DataSpec(name="hmp"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("walk-f1", "1 2 x\n", "cannot be read"),
        ("walk-f1", "1 2\n", "three numbers a line"),
        ("walk-f1", "1 2 64\n", "three levels"),
        ("walk-f1", "", "three numbers"),
        ("fly-f1", "1 2 3\n", "'fly' is none of"),
        ("walk-f9", "1 2 3\n", "'f9' is none of"),
    ],
)
def test_a_broken_recording_is_told(root: Path, name: str, text: str, says: str) -> None:
    folder = unpack(root)
    (folder / "Walk" / f"Accelerometer-2013-01-01-00-00-00-{name}.txt").write_text(text)
    with pytest.raises(DataUnavailable, match=says):
        load(DataSpec(name="hmp"))


def test_a_folder_without_recordings(root: Path) -> None:
    (root / "hmp" / "HMP_Dataset" / "Walk").mkdir(parents=True)
    with pytest.raises(DataUnavailable, match="holds no recordings"):
        load(DataSpec(name="hmp"))


def test_drawn_motion_depends_on_its_seed_alone() -> None:
    found = load(DataSpec(name="synthmotion", count=500))
    again = load(DataSpec(name="synthmotion", count=500, validation=0.3))
    np.testing.assert_array_equal(found.values, again.values)
    other = load(DataSpec(name="synthmotion", count=500, seed=1))
    assert (found.values != other.values).mean() > 0.9
    assert len(np.unique(found.values.reshape(500, -1), axis=0)) == 500
    same_but_the_images(load_labels(DataSpec(name="synthmotion", count=500)), found)


def test_attributes_of_drawn_motion_are_independent_and_show() -> None:
    found = load(DataSpec(name="synthmotion", count=4000))
    names = list(found.labels)
    for i, one in enumerate(names):
        for other in names[i + 1 :]:
            assert abs(np.corrcoef(found.labels[one], found.labels[other])[0, 1]) < 0.05
    # The tempo: the strongest frequency of the first axis.
    spectrum = np.abs(np.fft.rfft(found.values[..., 0] - found.values[..., 0].mean(axis=1, keepdims=True)))
    tempo = spectrum[:, 1:].argmax(axis=1)
    means = [tempo[found.labels["activity"] == i].mean() for i in range(4)]
    assert (np.diff(means) > 0.5).all()
    # The hand: the second axis runs a quarter of a turn before or behind the first.
    ahead = np.gradient(found.values[..., 0].astype(float), axis=1) * found.values[..., 1]
    right = ahead.mean(axis=1) > 0
    assert (right == (found.labels["hand"] == 1)).mean() > 0.9
