"""The layout of LFW's archives, laid out with drawn faces."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leakrange.data import load
from leakrange.data.people import ROLES
from leakrange.data.sets import lfw_people
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from tests.data.albums import CASTING, COUNTS, album, lay, shuffle_listings
from tests.data.packing import pack, small

PERSONS = [f"{name}_Doe" for name in "ABCDEFGHIJKLMN"]
SPEC = DataSpec(name="lfw-people", size=16, auxiliary=0.0)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lay(tmp_path / "lfw-deepfunneled", PERSONS, "PERSON_{:04d}.jpg")
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    monkeypatch.setattr(lfw_people.LFWPeople, "casting", CASTING)
    return tmp_path / "lfw-deepfunneled"


def lists(root: Path) -> None:
    """Of every second person; of the last picture of each nothing is known."""
    for start, name in enumerate(("female_names.txt", "male_names.txt")):
        known = [
            f"{person}_{number:04d}.jpg"
            for person, count in list(zip(PERSONS, COUNTS, strict=True))[start::2]
            for number in range(1, count)
        ]
        (root / name).write_text("\n".join([*known, "Nobody_0001.jpg", ""]).replace("Nobody", name[:4]))


def shown(images: np.ndarray, root: Path) -> list[Path]:
    """The file that each image comes from."""
    known = {}
    for path in root.glob("*/*.jpg"):
        with Image.open(path) as picture:
            known[picture.resize((16, 16), Image.Resampling.LANCZOS).tobytes()] = path
    return [known[image.tobytes()] for image in images]


def test_people_are_cast(root: Path) -> None:
    lists(root)
    found = load(SPEC)
    files = shown(found.values, root)
    who = np.array([path.parent.name for path in files])
    assert Counter(who.tolist()) == {
        name: min(count, CASTING.most) for name, count in zip(PERSONS, COUNTS, strict=True) if count >= 3
    }
    role = found.labels["role"]
    people = {name: set(who[role == number]) for number, name in enumerate(ROLES)}
    assert [len(some) for some in people.values()] == [3, 3, 2, 4]
    assert len(set.union(*people.values())) == 12
    learned = np.sort(np.concatenate([found.where("train"), found.where("validation")]))
    assert (learned == np.flatnonzero(role == ROLES.index("member"))).all()
    last = {f"{name}_{count:04d}.jpg" for name, count in zip(PERSONS, COUNTS, strict=True)}
    expected = [-1 if p.name in last else PERSONS.index(p.parent.name) % 2 for p in files]
    assert found.labels["gender"].tolist() == expected
    assert "read from the folder lfw-deepfunneled" in found.notes


@pytest.mark.parametrize("seed", range(5))
def test_a_student_knows_as_many_women_as_men(root: Path, seed: int) -> None:
    lists(root)
    found = load(SPEC.model_copy(update={"seed": seed}))
    for number in (0, 1):  # in the order of `cast`
        assert number in found.labels["gender"][found.labels["student"] == number]


def test_a_copy_stays_with_its_own(root: Path) -> None:
    shutil.copy(root / PERSONS[7] / f"{PERSONS[7]}_0001.jpg", root / PERSONS[7] / f"{PERSONS[7]}_0009.jpg")
    found = load(SPEC)
    _, sizes = np.unique(found.group, return_counts=True)
    assert sorted(sizes)[-2:] == [1, 2]


def test_genders_need_both_lists(root: Path) -> None:
    lists(root)
    (root / "male_names.txt").unlink()
    found = load(SPEC)
    assert set(found.labels["gender"]) == {-1}
    assert any("male_names.txt" in note for note in found.notes)


def test_the_first_folder_of_an_archive_is_taken(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.rename(root.with_name("lfw"))
    pack(root.parent, "lfw", small("lfw"))  # the packed set may lie in the same folder
    assert "read from the folder lfw" in load(SPEC).notes
    lay(root.with_name("lfw_funneled"), PERSONS)
    assert "read from the folder lfw_funneled" in load(SPEC.model_copy(update={"seed": 1})).notes
    monkeypatch.setenv("LEAKRANGE_DATA", str(root.parent / "nowhere"))
    assert "lfw-deepfunneled/Aaron_Peirsol" in str(lfw_people.LFWPeople.available())


def test_the_packed_file_alone_is_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    pack(tmp_path, "lfw", small("lfw"))
    with pytest.raises(DataUnavailable, match="unpack an archive of LFW"):
        load(SPEC)


def test_the_fingerprint_hangs_on_no_file_system(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = load(SPEC).fingerprint
    root.parent.rename(root.parent.with_name("elsewhere"))
    monkeypatch.setenv("LEAKRANGE_DATA", str(root.parent.with_name("elsewhere")))
    shuffle_listings(monkeypatch, 0)
    assert load(SPEC).fingerprint == here


@pytest.mark.parametrize(
    ("women", "says"), [("A_Doe_0001.jpg\n", "A_Doe_0001.jpg is in both"), ("", "empty")]
)
def test_broken_lists(root: Path, women: str, says: str) -> None:
    (root / "female_names.txt").write_text(women)
    (root / "male_names.txt").write_text("A_Doe_0001.jpg\nB_Doe_0001.jpg\n")
    with pytest.raises(DataUnavailable, match=says) as error:
        load(SPEC)
    assert error.value.hint


def test_broken_folders(root: Path) -> None:
    (root / "O_Doe").mkdir()
    with pytest.raises(DataUnavailable, match="O_Doe holds no pictures"):
        load(SPEC)
    (root / "O_Doe").rmdir()
    album(root / "P_Doe", 4, 99, "P_Doe_{:04d}.jpg")
    (root / "P_Doe" / "P_Doe_0002.jpg").write_bytes(b"\xff\xd8")
    with pytest.raises(DataUnavailable, match=r"P_Doe_0002\.jpg is not a JPEG or PNG"):
        load(SPEC)


def test_too_few_people(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the real casting
    monkeypatch.setenv("LEAKRANGE_DATA", str(root.parent))
    with pytest.raises(DataUnavailable, match="too few"):
        load(SPEC)
