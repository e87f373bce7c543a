"""VGGFace2's layout, laid out with drawn faces."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leakrange.data import Samples, load
from leakrange.data.people import ROLES, Casting
from leakrange.data.sets import vggface2
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable, InvalidInput
from tests.data.albums import CASTING, COUNTS, lay, shuffle_listings

PERSONS = [f"n{number:06d}" for number in range(1, len(COUNTS) + 1)]
TESTED = PERSONS[1::4]
"""Who is of the part ``test``; all others are of ``train``."""
HEADER = "Class_ID, Name, Sample_Num, Flag, Gender"
SPEC = DataSpec(name="vggface2", size=16, auxiliary=0.0)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lay(tmp_path / "vggface2" / "train", PERSONS)
    (tmp_path / "vggface2" / "test").mkdir()
    for name in TESTED:
        (tmp_path / "vggface2" / "train" / name).rename(tmp_path / "vggface2" / "test" / name)
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    monkeypatch.setattr(vggface2.VGGFace2, "casting", CASTING)
    return tmp_path / "vggface2"


def metadata(root: Path, *lines: str) -> None:
    """Odd numbers are women's; a name holds a comma, as some of the real ones do."""
    rows = [
        f'{name}, "Doe,_{number}", {count}, {int(name not in TESTED)}, {"mf"[number % 2]}'
        for number, (name, count) in enumerate(zip(PERSONS, COUNTS, strict=True), start=1)
    ]
    (root / "identity_meta.csv").write_text("\n".join(lines or [HEADER, *rows, ""]))


def sources(found: Samples, root: Path) -> list[str]:
    """Who each picture shows, told from the pictures alone."""
    known = {}
    for path in root.glob("*/*/*.jpg"):
        with Image.open(path) as picture:
            small = picture.resize((16, 16), Image.Resampling.LANCZOS)
        known[small.tobytes()] = path.parent.name
    return [known[image.tobytes()] for image in found.values]


def test_people_are_cast(root: Path) -> None:
    metadata(root)
    found = load(SPEC)
    shown = sources(found, root)
    assert found.values.shape == (len(shown), 16, 16, 3)
    assert found.values.dtype == np.uint8
    assert Counter(shown) == {
        name: min(count, CASTING.most) for name, count in zip(PERSONS, COUNTS, strict=True) if count >= 3
    }
    who = np.array(shown)
    role = found.labels["role"]
    people = {name: set(who[role == number]) for number, name in enumerate(ROLES)}
    assert {name: len(some) for name, some in people.items()} == {
        "member": 3, "outsider": 3, "student": 2, "public": 4
    }  # fmt: skip
    assert len(set.union(*people.values())) == 12
    learned = np.sort(np.concatenate([found.where("train"), found.where("validation")]))
    assert (learned == np.flatnonzero(role == ROLES.index("member"))).all()
    for label, some in (("person", set(who)), ("identity", people["member"]), ("student", people["student"])):
        numbers = found.labels[label]
        assert set(numbers[np.isin(who, list(some))]) == set(range(len(some)))
        assert set(numbers[~np.isin(who, list(some))]) <= {-1}
        assert len({(name, number) for name, number in zip(shown, numbers, strict=True) if number >= 0}) == (
            len(some)
        )
    assert found.labels["gender"].tolist() == [(int(name[1:]) + 1) % 2 for name in shown]
    assert found.labels["part"].tolist() == [int(name in TESTED) for name in shown]


@pytest.mark.parametrize("seed", range(5))
def test_a_student_knows_as_many_women_as_men(root: Path, seed: int) -> None:
    metadata(root)
    found = load(SPEC.model_copy(update={"seed": seed}))
    for number in (0, 1):  # in the order of `cast`
        assert set(found.labels["gender"][found.labels["student"] == number]) == {number}


def test_no_more_people_than_the_maximum_are_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vggface2.VGGFace2, "people", 10)
    monkeypatch.setattr(vggface2.VGGFace2, "casting", Casting(1, 1, 1, fewest=3, plenty=3, most=3))
    opened: list[object] = []
    real = Image.open
    monkeypatch.setattr(Image, "open", lambda path, **how: (opened.append(path), real(path, **how))[1])
    found = load(SPEC)
    assert len(found) == len(opened) == 30
    assert found.labels["person"].max() == 9
    other = load(SPEC.model_copy(update={"seed": 1}))
    assert set(sources(found, root)) != set(sources(other, root))


def test_the_published_numbers_fit_the_declared_classes() -> None:
    entry = vggface2.VGGFace2
    assert len(entry.attributes["identity"].classes) == 500
    assert vggface2.PEOPLE * vggface2.CASTING.most * 224**2 * 3 < 2**32  # the limit of what is read
    assert len(entry.attributes["student"].classes) == 20


def test_genders_need_the_metadata(root: Path) -> None:
    found = load(SPEC)
    assert set(found.labels["gender"]) == {-1}
    assert any("identity_meta.csv" in note for note in found.notes)
    metadata(root)
    assert not any("identity_meta.csv" in note for note in load(SPEC.model_copy(update={"seed": 3})).notes)


def test_one_of_the_two_parts_will_do(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vggface2.VGGFace2, "people", 10)  # of twelve
    both = load(SPEC)
    for name in TESTED:
        (root / "test" / name).rename(root / "train" / name)
    (root / "test").rmdir()
    one = load(SPEC.model_copy(update={"validation": 0.2}))
    assert set(one.labels["part"]) == {0}
    assert (one.values == both.values).all()  # whom the seed draws does not depend on where they lie
    assert (one.labels["role"] == both.labels["role"]).all()


def test_a_picture_of_two_people_is_nobodys_and_a_copy_stays_with_its_own(root: Path) -> None:
    taken = sorted((root / "train" / PERSONS[2]).iterdir())
    shutil.copy(taken[0], taken[0].with_name("0099_01.jpg"))
    two = root / "train" / PERSONS[3]
    shutil.copy(taken[1], two / "0099_01.jpg")
    found = load(SPEC)
    with Image.open(taken[1]) as picture:
        shared = np.asarray(picture.resize((16, 16), Image.Resampling.LANCZOS))
    with Image.open(taken[0]) as picture:
        copied = np.asarray(picture.resize((16, 16), Image.Resampling.LANCZOS))
    assert not (found.values == shared).all(axis=(1, 2, 3)).any()
    twice = np.flatnonzero((found.values == copied).all(axis=(1, 2, 3)))
    assert len(twice) == 2
    assert len(set(found.group[twice])) == 1
    assert len(set(found.group)) == len(found) - 1


def test_the_fingerprint_hangs_on_no_file_system(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata(root)
    here = load(SPEC).fingerprint
    shutil.copytree(tmp_path, tmp_path / "elsewhere")
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "elsewhere"))
    shuffle_listings(monkeypatch, 0)
    assert load(SPEC).fingerprint == here
    assert load(SPEC.model_copy(update={"seed": 1})).fingerprint != here


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ((), "does not begin with the line"),
        (("n000001, A, 8, 1, f",), "does not begin with the line"),
        ((HEADER, "n000001, A, 8, 1, f", "n000002, B, 9, 0, x"), "line 3: 'n000002, B, 9, 0, x'"),
        ((HEADER, "n000001, A, 8, 1"), "line 2"),
        ((HEADER, "n000001, A, 8, 1, f", "n000001, A, 8, 1, m"), "line 3"),
    ],
)
def test_broken_metadata_is_told_with_its_line(root: Path, lines: tuple[str, ...], says: str) -> None:
    metadata(root, *(lines or ("",)))
    with pytest.raises(DataUnavailable, match=says) as error:
        load(SPEC)
    assert "identity_meta.csv" in error.value.detail
    assert error.value.hint


def test_copies_of_the_metadata_that_end_their_lines_with_a_comma(root: Path) -> None:
    metadata(root)
    path = root / "identity_meta.csv"
    header, *rows = path.read_text().splitlines()
    path.write_text("\ufeff" + "\r\n".join([header, *(f"{row.replace(', ', ',')}," for row in rows)]))
    found = load(SPEC)
    assert found.labels["gender"].tolist() == [(int(name[1:]) + 1) % 2 for name in sources(found, root)]


def test_what_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAKRANGE_DATA", raising=False)
    with pytest.raises(DataUnavailable, match=r"vggface2/train/n000002/0001_01\.jpg.*LEAKRANGE_DATA"):
        load(SPEC)
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    (tmp_path / "vggface2").mkdir()
    with pytest.raises(DataUnavailable, match="unpack VGGFace2"):
        load(SPEC)
    (tmp_path / "vggface2" / "train").mkdir()
    with pytest.raises(DataUnavailable, match="train holds no folders, one for each person"):
        load(SPEC)


def test_too_few_people_are_told_before_a_picture_is_opened(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # the real casting
    monkeypatch.setenv("LEAKRANGE_DATA", str(root.parent))
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("a picture was opened"))
    with pytest.raises(DataUnavailable, match="too few"):
        load(SPEC)


def test_a_broken_picture_and_a_size_beyond_the_limit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leakrange.data.folders.MOST_BYTES", 10**6)
    with pytest.raises(InvalidInput, match="512 x 512"):
        load(SPEC.model_copy(update={"size": 512}))
    (root / "train" / PERSONS[0] / "0001_01.jpg").write_bytes(b"\xff\xd8\xff")
    (root / "train" / PERSONS[0] / "0002_01.jpg").write_bytes(b"\xff\xd8\xff")
    with pytest.raises(DataUnavailable, match=rf"{PERSONS[0]}/000[12]_01\.jpg is not a JPEG or PNG"):
        load(SPEC)
