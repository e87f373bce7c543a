"""Packed files: what is read from them, and that a broken one is said to be broken."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from leakrange.data import load, load_labels
from leakrange.data.sets.celeba import CELEBA_NAMES
from leakrange.jobs.recipe import DataSpec, Subset
from leakrange.wire.errors import DataUnavailable
from tests.data.labels import same_but_the_images
from tests.data.packing import Arrays, jpeg, pack, pictures, small

NAMES = ("utkface", "celeba_sub", "lfw", "mnist", "fashion_mnist", "cifar10")
TRAIN, VALIDATION, AUXILIARY, TEST = range(4)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", NAMES)
def test_a_whole_file_is_read(root: Path, name: str) -> None:
    arrays = small(name)
    pack(root, name, arrays)
    found = load(DataSpec(name=name, auxiliary=0.2))
    if "jpeg" in arrays:
        size = 32 if name == "cifar10" else 64
        assert found.values.shape == (60, size, size, 3)
    else:
        assert (found.values[:60, ..., 0] == arrays["x_train"]).all()
        assert (found.values[60:, ..., 0] == arrays["x_test"]).all()
    assert set(np.unique(found.split)) == {TRAIN, VALIDATION, AUXILIARY, TEST}
    for number in np.unique(found.group):
        assert len(set(found.split[found.group == number])) == 1


@pytest.mark.parametrize("name", [*NAMES, "celeba_sub-hair"])
def test_its_labels_are_told_without_its_pictures(root: Path, name: str) -> None:
    pack(root, name.removesuffix("-hair"), small(name.removesuffix("-hair")))
    drawn = {"subset": Subset(pool=20)} if name == "mnist" else {"limit": 10}
    spec = DataSpec(name=name, auxiliary=0.2, **drawn)
    whole = load(spec)
    blank = {key: np.empty(0, np.uint8) for key in ("jpeg", "offset", "x_train", "x_test")}
    pack(root, name.removesuffix("-hair"), small(name.removesuffix("-hair")) | blank)
    same_but_the_images(load_labels(spec), whole)


def test_pictures_keep_their_order_and_colours(root: Path) -> None:
    images = pictures(30, 32)
    pack(root, "cifar10", small("cifar10", 30) | jpeg(images))
    found = load(DataSpec(name="cifar10"))
    assert np.abs(found.values.astype(int) - images).mean() < 4


def test_ages_and_races_as_in_the_tables(root: Path) -> None:
    # By hand from HBC's Tables 10 and 11. Age: (in 2, 3, 4, 5 classes).
    ages = {
        1: (0, 0, 0, 0), 19: (0, 0, 0, 0), 20: (0, 0, 0, 1), 21: (0, 1, 0, 1), 22: (0, 1, 1, 1),
        26: (0, 1, 1, 1), 27: (0, 1, 1, 2), 29: (0, 1, 1, 2), 30: (0, 1, 2, 2), 31: (1, 1, 2, 2),
        34: (1, 1, 2, 2), 35: (1, 1, 2, 3), 36: (1, 2, 2, 3), 45: (1, 2, 2, 3), 46: (1, 2, 3, 3),
        49: (1, 2, 3, 3), 50: (1, 2, 3, 4), 110: (1, 2, 3, 4),
    }  # fmt: skip
    # White, Black, Asian, Indian, Other (in 2, 3, 4, 5 classes).
    races = {0: (0, 0, 0, 0), 1: (1, 2, 1, 1), 2: (1, 1, 3, 2), 3: (1, 2, 2, 3), 4: (1, 2, 3, 4)}
    arrays = small("utkface")
    arrays["age"] = np.resize(np.array(list(ages), dtype=np.uint8), 60)
    pack(root, "utkface", arrays)
    found = load(DataSpec(name="utkface"))
    for i in range(60):
        age, race = int(arrays["age"][i]), int(arrays["race"][i])
        assert tuple(found.labels[f"age-{n}"][i] for n in (2, 3, 4, 5)) == ages[age]
        assert tuple(found.labels[f"race-{n}"][i] for n in (2, 3, 4, 5)) == races[race]
    assert (found.labels["gender"] == arrays["gender"]).all()
    assert found.attributes["age-4"].classes == ("to 21", "22-29", "30-45", "over 45")
    assert found.attributes["race-4"].classes == ("White", "Black", "Indian", "Asian/Other")
    assert found.attributes["gender"].classes == ("male", "female")
    assert any("40 %" in note and "children" in note for note in found.notes)


def test_celeba_attributes_and_hair_colour(root: Path) -> None:
    arrays = small("celeba_sub")
    black, blond, brown = (CELEBA_NAMES.index(f"{c}_Hair") for c in ("Black", "Blond", "Brown"))
    arrays["attr"][:, [black, blond, brown]] = 0
    arrays["attr"][0:20, black] = 1
    arrays["attr"][20:40, blond] = 1
    arrays["attr"][35:55, brown] = 1
    pack(root, "celeba_sub", arrays)
    found = load(DataSpec(name="celeba_sub"))
    assert found.labels["hair-color"].tolist() == [0] * 20 + [1] * 15 + [-1] * 5 + [2] * 15 + [-1] * 5
    for i, name in enumerate(CELEBA_NAMES):
        assert (found.labels[name.lower().replace("_", "-")] == arrays["attr"][:, i]).all()
    assert found.attributes["male"].classes == ("female", "male")
    assert (found.where("test") == np.flatnonzero(arrays["part"] == 2)).all()

    hair = load(DataSpec(name="celeba_sub-hair"))
    kept = found.labels["hair-color"] >= 0
    assert (hair.values == found.values[kept]).all()
    assert (hair.labels["hair-color"] == found.labels["hair-color"][kept]).all()
    assert (hair.group == found.group[kept]).all()
    others = load(DataSpec(name="celeba_sub-other-hair"))
    assert (others.values == found.values[~kept]).all()
    assert set(others.labels["hair-color"]) == {-1}


@pytest.mark.parametrize("name", ["celeba_sub-hair", "celeba_sub-other-hair"])
@pytest.mark.parametrize("seed", [0, 1])
def test_hair_sets_of_celeba_split_by_person(root: Path, name: str, seed: int) -> None:
    arrays = small("celeba_sub", 400)
    person = np.arange(400) % 40  # 32 people are trained on, 8 tested
    arrays |= {"identity": person.astype(np.int32), "part": ((person >= 32) * 2).astype(np.uint8)}
    arrays["group"][:] = np.arange(400)
    # Copies tie person 0 to 1 and 2 to the tested person 39.
    arrays["attr"][:, [CELEBA_NAMES.index(f"{c}_Hair") for c in ("Blond", "Brown")]] = 0
    arrays["attr"][:, CELEBA_NAMES.index("Black_Hair")] = np.arange(400) < 200
    # The copy of a test image has a hair colour: person 2 is tested in the other set, too.
    for one, other in ((0, 1), (2, 39), (200, 201)):
        arrays["group"][other] = one
    pack(root, "celeba_sub", arrays)
    found = load(DataSpec(name=name, validation=0.2, auxiliary=0.2, seed=seed))
    shown = found.labels["identity"]
    parts = [{part} for part in found.split]
    for each in (shown, found.group):
        for value in np.unique(each):
            assert len(set().union(*(parts[i] for i in np.flatnonzero(each == value)))) == 1
    assert set(found.split[shown == 2]) == {TEST}
    assert set(found.split[shown == 0]) == set(found.split[shown == 1])
    assert len(found.where("validation")) == len(found.where("auxiliary")) == pytest.approx(31, abs=5)
    assert any(note.endswith("is a copy, tested: 5") for note in found.notes)


def test_celeba_keeps_its_own_validation_images(root: Path) -> None:
    arrays = small("celeba_sub") | {"part": np.repeat(np.array([0, 1, 2], dtype=np.uint8), [40, 10, 10])}
    pack(root, "celeba_sub", arrays)
    found = load(DataSpec(name="celeba_sub", validation=0.4, auxiliary=0.25))
    assert found.where("validation").tolist() == list(range(40, 50))
    assert len(found.where("auxiliary")) == 10


def test_copies_of_test_images_leave_the_training_images(root: Path) -> None:
    arrays = small("celeba_sub")
    arrays["group"][:] = np.arange(60)
    arrays["group"][:3] = 55
    pack(root, "celeba_sub", arrays)
    found = load(DataSpec(name="celeba_sub"))
    assert set(found.split[:3]) == {TEST}
    assert any(note.endswith(": 3") for note in found.notes)


def test_lfw_genders_and_people(root: Path) -> None:
    arrays = small("lfw")
    pack(root, "lfw", arrays)
    found = load(DataSpec(name="lfw"))
    assert found.attributes["gender"].classes == ("female", "male")
    assert (found.labels["gender"] == arrays["gender"]).all()
    assert (found.labels["identity"] == arrays["identity"]).all()


def test_cifar_animals(root: Path) -> None:
    pack(root, "cifar10", small("cifar10"))
    found = load(DataSpec(name="cifar10"))
    animals = {
        found.attributes["object"].classes[k] for k in found.labels["object"][found.labels["animal"] == 1]
    }
    assert animals == {"bird", "cat", "deer", "dog", "frog", "horse"}


def test_a_file_that_was_replaced_is_read_again(root: Path) -> None:
    pack(root, "mnist", small("mnist"))
    first = load(DataSpec(name="mnist"))
    arrays = small("mnist")
    arrays["x_train"] = 255 - arrays["x_train"]
    pack(root, "mnist", arrays)
    second = load(DataSpec(name="mnist", seed=1))
    assert (second.values[:60] == 255 - first.values[:60]).all()


def npy() -> bytes:
    out = io.BytesIO()
    np.save(out, np.ones(3))
    return out.getvalue()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(255 - b for b in data[middle : middle + 200])
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        flip,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"not an archive at all"),
        lambda path: path.write_bytes(npy()),
    ],
    ids=["cut", "flipped", "empty", "text", "npy"],
)
def test_damaged_file(root: Path, damage: Callable[[Path], object]) -> None:
    path = pack(root, "utkface", small("utkface"))
    damage(path)
    with pytest.raises(DataUnavailable, match=r"utkface\.npz|not a JPEG") as error:
        load(DataSpec(name="utkface"))
    assert error.value.hint


class Trap:
    """Unpickling it would be noticed."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return (pytest.fail, ("a pickle was opened",))


def with_array(name: str, value: object) -> Callable[[Arrays], Arrays]:
    return lambda arrays: arrays | {name: np.asarray(value)}


@pytest.mark.parametrize(
    ("name", "spoil", "says"),
    [
        ("utkface", lambda a: {k: v for k, v in a.items() if k != "age"}, "lacks the arrays: age"),
        ("utkface", lambda a: a | {"age": a["age"] / 1}, "'age' is float64 with 1 axes, not uint8"),
        ("utkface", lambda a: a | {"age": a["age"][None]}, "'age' is uint8 with 2 axes"),
        ("utkface", lambda a: a | {"age": a["age"][:-1]}, "labels of 'age-2' must be 60 numbers"),
        ("utkface", lambda a: a | {"group": a["group"][:-1]}, "group must have 60 values"),
        ("utkface", lambda a: a | {"race": a["race"] + 3}, "'race' holds values outside 0..4"),
        ("utkface", with_array("races", ["A", "B", "C", "D", "E"]), "'races' should name"),
        ("utkface", with_array("age", np.array([Trap()] * 60, dtype=object)), "cannot be read"),
        ("utkface", lambda a: a | {"offset": a["offset"][::-1].copy()}, "offsets do not cut"),
        ("utkface", lambda a: a | {"offset": a["offset"] + 10**6}, "offsets do not cut"),
        ("utkface", lambda a: a | {"offset": a["offset"] + np.r_[0, [9] * 59, 0]}, "not a JPEG"),
        ("utkface", lambda a: a | {"jpeg": np.zeros_like(a["jpeg"])}, "picture 0 is not a JPEG"),
        ("celeba_sub", lambda a: a | {"attr": a["attr"] * 3}, "'attr' holds values outside 0..1"),
        ("celeba_sub", lambda a: a | {"part": a["part"] + 7}, "'part' holds values outside 0..2"),
        ("lfw", lambda a: a | {"gender": a["gender"] - 4}, "'gender' holds values outside -1..1"),
        ("mnist", lambda a: a | {"y_test": a["y_test"][:-1]}, "do not fit together"),
        ("mnist", lambda a: a | {"x_test": a["x_test"][:, :20]}, "do not fit together"),
        ("mnist", lambda a: a | {"y_train": a["y_train"] + 9}, "outside 0..9"),
        ("cifar10", lambda a: a | {"test": a["test"].astype(np.uint8)}, "not bool"),
    ],
)  # fmt: skip
def test_file_of_another_layout(root: Path, name: str, spoil: Callable[[Arrays], Arrays], says: str) -> None:
    pack(root, name, spoil(small(name)))
    with pytest.raises(DataUnavailable, match=says):
        load(DataSpec(name=name))


def test_pictures_of_two_sizes(root: Path) -> None:
    one, two = jpeg(pictures(59, 24)), jpeg(pictures(1, 20))
    mixed = {
        "jpeg": np.concatenate([one["jpeg"], two["jpeg"]]),
        "offset": np.r_[one["offset"], one["offset"][-1] + two["offset"][-1]],
    }
    pack(root, "utkface", small("utkface") | mixed)
    with pytest.raises(DataUnavailable, match="another size"):
        load(DataSpec(name="utkface"))
