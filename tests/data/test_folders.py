"""Reading people's folders: what is drawn, what is opened, what counts as a copy, and what is refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leakrange.data import folders
from leakrange.data.folders import compacted, draw_pictures, person_folders, read_pictures, text_lines
from leakrange.data.people import Casting
from leakrange.wire.errors import DataUnavailable, InvalidInput
from leakrange.wire.pictures import resized
from tests.data.albums import CASTING, COUNTS, album, lay, shuffle_listings

NAMES = [f"p{number:02d}" for number in range(len(COUNTS))]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lay(tmp_path / "set", NAMES)
    return tmp_path / "set"


def drawn(root: Path, people: int, seed: int, casting: Casting = CASTING) -> dict[str, list[str]]:
    own = {name: [folder] for name, folder in person_folders(root).items()}
    found = draw_pictures(own, people, casting, seed)
    assert all(path.parent == root / name for name, paths in found.items() for path in paths)
    return {name: [path.name for path in paths] for name, paths in found.items()}


def test_no_more_is_drawn_than_asked_for(root: Path) -> None:
    everybody = drawn(root, 100, 0)
    assert {name: len(paths) for name, paths in everybody.items()} == {
        name: min(count, CASTING.most)
        for name, count in zip(NAMES, COUNTS, strict=True)
        if count >= CASTING.fewest
    }
    assert list(everybody) == sorted(everybody)
    assert all(paths == sorted(set(paths)) for paths in everybody.values())
    some = drawn(root, 5, 0)
    assert len(some) == 5
    assert some.items() <= everybody.items()  # what is taken of a person hangs on no other
    assert len({tuple(drawn(root, 5, seed)) for seed in range(5)}) > 1
    assert len({tuple(drawn(root, 100, seed)["p01"]) for seed in range(5)}) > 1


def test_a_file_system_with_another_order_gives_the_same(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = drawn(root, 6, 3)
    shuffle_listings(monkeypatch, 1)
    assert drawn(root, 6, 3) == before


def test_folders_are_looked_into_until_there_are_people_enough(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = {name: [folder] for name, folder in person_folders(root).items()}
    opened: list[Path] = []
    looked = folders._pictures
    monkeypatch.setattr(folders, "_pictures", lambda folder: (opened.append(folder), looked(folder))[1])
    draw_pictures(own, 3, CASTING, 0)
    assert 3 <= len(opened) <= 5  # two of all people have too few pictures


def test_other_files_are_passed_over(root: Path) -> None:
    before = drawn(root, 100, 0)
    (root / "readme.txt").write_text("of the archive")
    (root / ".cache").mkdir()
    (root / "p00" / "Thumbs.db").write_bytes(b"\0")
    (root / "p00" / "._0001_01.jpg").write_bytes(b"\0")
    assert drawn(root, 100, 0) == before


@pytest.mark.parametrize("file", ["{}.jpg", "{}.JPEG", "{}.png"])
def test_pictures_are_the_square_in_the_middle(tmp_path: Path, file: str) -> None:
    rng = np.random.default_rng(0)
    wide, high = (
        np.kron(rng.integers(0, 256, (*shape, 3), dtype=np.uint8), np.ones((8, 8, 1), dtype=np.uint8))
        for shape in ((4, 7), (7, 4))
    )
    paths = [tmp_path / file.format(number) for number in range(3)]
    for path, pixels in zip(paths, (wide, high, wide[..., 0]), strict=True):
        Image.fromarray(pixels).save(path)
    images, group = read_pictures(paths, 16)
    middle = [wide[:, 12:44], high[12:44], np.repeat(wide[:, 12:44, :1], 3, axis=2)]
    assert images.shape == (3, 16, 16, 3)
    assert images.dtype == np.uint8
    difference = np.abs(images.astype(int) - resized(np.stack(middle), 16)).mean(axis=(1, 2, 3))
    assert difference.max() < (0.01 if file.endswith("png") else 25)
    assert list(group) == [0, 1, 2]


def test_equal_pictures_are_one_group_however_they_are_stored(tmp_path: Path) -> None:
    album(tmp_path / "a", 3, 0, "{}.png")
    shutil.copy(tmp_path / "a" / "2.png", tmp_path / "a" / "4.png")
    with Image.open(tmp_path / "a" / "3.png") as picture:
        picture.save(tmp_path / "a" / "5.png", compress_level=1)
        picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(tmp_path / "a" / "6.png")
    paths = [tmp_path / "a" / f"{number}.png" for number in range(1, 7)]
    assert read_pictures(paths, 16)[1].tolist() == [0, 1, 2, 1, 2, 5]


def test_what_is_kept_takes_no_second_copy() -> None:
    images = np.arange(6 * 16 * 16 * 3, dtype=np.int64).reshape(6, 16, 16, 3).astype(np.uint8)
    expected = images[[0, 2, 5]].copy()
    kept = compacted(images, np.array([0, 2, 5]))
    assert (kept == expected).all()
    assert np.shares_memory(kept, images)


def test_more_pixels_than_are_kept_in_memory_are_refused_before_any_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "not-there.jpg"] * 10
    monkeypatch.setattr(folders, "MOST_BYTES", 10 * 32 * 32 * 3 - 1)
    with pytest.raises(InvalidInput, match="10 pictures of 32 x 32 pixels") as error:
        read_pictures(paths, 32)
    assert error.value.hint
    assert "size" in error.value.hint
    with pytest.raises(DataUnavailable, match=r"not-there\.jpg"):
        read_pictures(paths, 31)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


@pytest.mark.parametrize(
    "spoil",
    [
        cut,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("<html>not found</html>"),
        lambda path: Image.new("RGB", (4, 4)).save(path, "GIF"),
        lambda path: path.unlink(),
    ],
)
@pytest.mark.parametrize("file", ["{}.jpg", "{}.png"])
def test_a_broken_picture_is_named(tmp_path: Path, spoil: Callable[[Path], object], file: str) -> None:
    album(tmp_path / "a", 2, 0, file)
    paths = sorted((tmp_path / "a").iterdir())
    spoil(paths[1])
    with pytest.raises(DataUnavailable) as error:
        read_pictures(paths, 16)
    assert str(paths[1]) in error.value.detail
    assert error.value.hint
    assert "delete" in error.value.hint


def test_a_picture_that_declares_too_much_is_not_decompressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image.new("RGB", (40, 30)).save(tmp_path / "large.png")
    monkeypatch.setattr(folders, "MOST_PIXELS", 1199)
    monkeypatch.setattr(Image.Image, "load", lambda _: pytest.fail("it was decompressed"))
    with pytest.raises(DataUnavailable, match=r"large\.png declares more than 1199 pixels"):
        read_pictures([tmp_path / "large.png"], 16)


def test_folders_that_lack_something(tmp_path: Path) -> None:
    with pytest.raises(DataUnavailable, match="cannot be read: No such file"):
        person_folders(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataUnavailable, match="holds no folders, one for each person"):
        person_folders(tmp_path / "empty")
    lay(tmp_path / "set", NAMES)
    (tmp_path / "set" / "p99").mkdir()
    with pytest.raises(DataUnavailable, match="p99 holds no pictures") as error:
        drawn(tmp_path / "set", 100, 0)
    assert error.value.hint
    with pytest.raises(DataUnavailable, match=r"no-list\.txt cannot be read"):
        text_lines(tmp_path / "no-list.txt")
    (tmp_path / "list.txt").write_bytes(b"\xff\xfe\0")
    with pytest.raises(DataUnavailable, match=r"list\.txt cannot be read"):
        text_lines(tmp_path / "list.txt")
