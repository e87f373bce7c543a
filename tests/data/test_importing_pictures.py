"""A user's pictures become a data set: classes by folder, further attributes by a CSV, or an npz."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leakrange.data import datasets, load
from leakrange.data.importing import ColumnUse, import_set
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable, InvalidInput
from tests.data.albums import album

WHOLE = {"validation": 0.0, "auxiliary": 0.0}
ANIMAL = ColumnUse("animal")


@pytest.fixture
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fourteen pictures of cats, of which two are equal, and twelve of dogs, in folders."""
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    folder = tmp_path / "pets"
    album(folder / "cats", 13, 1, "{:04d}.png")
    album(folder / "dogs", 12, 2, "{:04d}.png")
    (folder / "cats" / "0099.png").write_bytes((folder / "cats" / "0003.png").read_bytes())
    return folder


def test_folders_are_classes(pictures: Path) -> None:
    prepared = import_set(pictures, "pets", ANIMAL, size=32)
    data = load(DataSpec(name="pets", **WHOLE))
    assert data.attributes["animal"].classes == ("cats", "dogs")
    assert data.labels["animal"].tolist() == [0] * 14 + [1] * 12
    assert data.spec.shape == (32, 32, 3)
    assert data.group[2] == data.group[13]
    assert len(set(data.group.tolist())) == 25
    assert prepared.division.copies == 2
    again = load(DataSpec(name="pets", size=16, **WHOLE))
    assert again.values.shape == (26, 16, 16, 3)


def test_a_picture_is_what_its_file_shows(pictures: Path) -> None:
    Image.new("RGB", (40, 40), (250, 10, 90)).save(pictures / "dogs" / "0000.png")
    import_set(pictures, "pets", ANIMAL, size=32)
    assert (load(DataSpec(name="pets", **WHOLE)).values[14] == (250, 10, 90)).all()


@pytest.mark.parametrize("place", ["pets/facts.csv", "pets.csv"])
def test_a_csv_says_more_of_them(pictures: Path, place: str) -> None:
    rows = [f"dogs/{i:04d}.png,{['old', 'young'][i % 2]},o{i // 3}" for i in range(1, 13)]
    rows += [f"cats/{i:04d}.png,young,o{i}" for i in range(1, 14)]
    (pictures.parent / place).write_text("\n".join(["file,age,owner", *rows]) + "\n")
    prepared = import_set(pictures, "pets", ColumnUse("animal", ("age",), person="owner"), size=16)
    data = load(DataSpec(name="pets", **WHOLE))
    assert data.labels["age"].tolist() == [1] * 13 + [-1] + [i % 2 for i in range(1, 13)]
    assert len(set(data.group[16:19].tolist())) == 1  # dogs 3, 4 and 5 have one owner
    assert "pictures that the CSV does not name: 1" in prepared.notes


def test_broken_pictures_and_tables_are_named(pictures: Path) -> None:
    (pictures / "facts.csv").write_text("name,age\ncats/0001.png,old\n")
    with pytest.raises(InvalidInput, match="has no column 'file'"):
        import_set(pictures, "pets", ANIMAL)
    (pictures / "facts.csv").write_text("file,age\ncats/0001.png,old\ncats/0001.png,old\n")
    with pytest.raises(InvalidInput, match=r"names 'cats/0001.png' twice"):
        import_set(pictures, "pets", ANIMAL)
    (pictures / "facts.csv").write_text("file,age\nbirds/0001.png,old\n")
    with pytest.raises(InvalidInput, match="names none of the pictures"):
        import_set(pictures, "pets", ANIMAL)
    (pictures / "facts.csv").unlink()
    (pictures / "cats" / "0004.png").write_bytes(b"\x89PNG\r\n\x1a\nno picture")
    with pytest.raises(DataUnavailable, match=r"cats/0004.png is not a JPEG, PNG or WEBP"):
        import_set(pictures, "pets", ANIMAL)
    assert "pets" not in datasets


def test_folders_without_pictures_or_with_one_class_are_refused(pictures: Path) -> None:
    with pytest.raises(InvalidInput, match="0 of 14 rows can be used"):
        import_set(pictures / "cats", "pets", ANIMAL)  # they lie in no folder that names a class
    (pictures / "empty").mkdir()
    with pytest.raises(InvalidInput, match="holds no pictures"):
        import_set(pictures / "empty", "pets", ANIMAL)


def test_pictures_of_an_npz_with_its_other_arrays_as_columns(pictures: Path) -> None:
    draw = np.random.default_rng(3)
    shown = draw.integers(0, 256, (40, 20, 20), dtype=np.uint8)
    shown[31] = shown[2]
    path = pictures.parent / "a.npz"
    np.savez(path, x=shown, digit=np.arange(40) % 3, left=np.arange(40) % 2 == 0)
    import_set(path, "drawn", ColumnUse("digit", ("left",)))
    data = load(DataSpec(name="drawn", **WHOLE))
    assert (data.values[..., 0] == shown).all()
    assert data.labels["digit"].tolist() == (np.arange(40) % 3).tolist()
    assert data.attributes["left"].classes == ("false", "true")
    assert data.labels["left"][:2].tolist() == [1, 0]
    assert data.split[31] == data.split[2]


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"x": np.zeros((30, 8, 8, 2), np.uint8), "y": np.arange(30)}, r"has the shape \(30, 8, 8, 2\)"),
        ({"x": np.zeros((30, 8, 8)), "y": np.arange(30)}, "'x' is float64"),
        ({"x": np.zeros((30, 9, 9), np.uint8), "y": np.arange(29)}, "its arrays have 29, 30 rows"),
        ({"x": np.zeros((30, 2, 9), np.uint8), "y": np.arange(30) % 2}, "2 pixels high and 9 wide"),
        ({"x": np.zeros((30, 9, 9), np.uint8), "z": np.zeros((30, 2))}, "several axes each"),
        ({"x": np.array([{}] * 30, dtype=object), "y": np.arange(30)}, "cannot be read"),
    ],
)
def test_arrays_of_another_form_are_refused(pictures: Path, arrays: dict[str, object], sentence: str) -> None:
    path = pictures.parent / "a.npz"
    np.savez(path, **arrays)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=sentence):
        import_set(path, "drawn", ColumnUse("y"))
    assert "drawn" not in datasets
