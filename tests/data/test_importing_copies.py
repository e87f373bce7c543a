"""Near-copies among imported pictures: what is one picture saved anew, and what is another picture."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from leakrange.data import load
from leakrange.data.faces.portrait import draw
from leakrange.data.faces.traits import sample
from leakrange.data.importing import ColumnUse, copies, import_set
from leakrange.data.importing.copies import near_copies, reduced
from leakrange.jobs.recipe import DataSpec


@pytest.fixture(scope="module")
def faces() -> NDArray[np.uint8]:
    """300 drawn faces of 64 x 64 pixels, each of another person."""
    return draw(sample(300, 7)[0], 64, 7)


def saved_anew(face: NDArray[np.uint8], form: str, quality: int, side: int) -> NDArray[np.uint8]:
    file = io.BytesIO()
    Image.fromarray(face).resize((side, side), Image.Resampling.BICUBIC).save(file, form, quality=quality)
    with Image.open(file) as picture:
        return np.asarray(picture.convert("RGB").resize((64, 64), Image.Resampling.LANCZOS))


def groups(pictures: list[NDArray[np.uint8]] | NDArray[np.uint8]) -> list[int]:
    return near_copies(np.stack([reduced(each) for each in pictures])).tolist()


def test_drawn_faces_are_no_copies_of_each_other(faces: NDArray[np.uint8]) -> None:
    assert len(set(groups(faces))) == len(faces)


@pytest.mark.parametrize(
    ("form", "quality", "side"),
    [("JPEG", 90, 64), ("JPEG", 50, 64), ("WEBP", 75, 64), ("PNG", 0, 32), ("JPEG", 75, 128)],
)
def test_a_picture_saved_anew_is_its_near_copy(
    faces: NDArray[np.uint8], form: str, quality: int, side: int
) -> None:
    anew = [saved_anew(face, form, quality, side) for face in faces[:100]]
    assert groups([*faces, *anew]) == [*range(len(faces)), *range(100)]


def test_copies_of_copies_belong_together() -> None:
    steps = np.linspace(0, 40, 9).astype(np.uint8)
    ramp = np.tile(np.arange(0, 192, 3, dtype=np.uint8), (64, 1))[..., None]
    chain = [ramp + step * (np.arange(64) > 31).astype(np.uint8)[None, :, None] for step in steps]
    assert groups([chain[0], chain[8]]) == [0, 1]
    assert len(set(groups([chain[i] for i in (4, 0, 8, 2, 6, 1, 7, 3, 5)]))) == 1


def test_plain_pictures_are_told_apart_by_their_colour() -> None:
    plain = [np.full((20, 20, 3), grey, np.uint8) for grey in (100, 103, 100, 0, 255)]
    red_and_green = [np.zeros((20, 20, 3), np.uint8) for _ in range(2)]
    red_and_green[0][..., 0] = red_and_green[1][..., 1] = 90
    assert groups([*plain, *red_and_green]) == [0, 1, 0, 3, 4, 5, 6]


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 60), st.integers(0, 2**32 - 1), st.sampled_from([1, 3]), st.sampled_from([2, 12, 80]))
def test_blocks_find_what_a_comparison_of_all_pairs_finds(
    count: int, seed: int, channels: int, contrast: int
) -> None:
    """Of pictures with many at about the threshold, the same groups as the definition says."""
    draw = np.random.default_rng(seed)
    shared = draw.normal(0, contrast, (1, 16, 16, channels))
    noise = draw.normal(0, 1, (count, 16, 16, channels)) * draw.uniform(0.02, 0.3, (count, 1, 1, 1))
    # Of some pictures the colours differ, and the grey levels do not.
    hue = draw.normal(0, contrast / 8, (count, 1, 1, 1)) * [[1, -0.51, 0], [0]][channels == 1]
    pictures = (120 + shared + contrast * noise + hue).clip(0, 255).astype(np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        for name, size in (("ROWS", 3), ("COLUMNS", 7), ("PAIRS", 5), ("SLACK", 1e4)):
            patch.setattr(copies, name, size)
        grouped = groups(pictures)
    small = np.stack([reduced(each) for each in pictures]).astype(float)
    spread = np.maximum(small[:, :256].std(axis=1), 8)
    most = 0.1 * np.maximum(spread[:, None], spread[None])
    near = np.ones((count, count), dtype=bool)
    for part in (small[:, :256], small[:, 256:]):
        near &= np.sqrt(np.square(part[:, None] - part[None]).mean(axis=2)) <= most
    lowest = np.arange(count)
    for _ in range(count):
        lowest = np.array([lowest[near[i]].min() for i in range(count)])
    assert grouped == lowest.tolist()


def test_a_near_copy_is_on_its_originals_side_of_the_split(
    faces: NDArray[np.uint8], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    folder = tmp_path / "people"
    for number, face in enumerate(faces[:60]):
        (folder / "ab"[number % 2]).mkdir(parents=True, exist_ok=True)
        Image.fromarray(face).save(folder / "ab"[number % 2] / f"{number:02d}.png")
        Image.fromarray(face).resize((90, 90)).save(
            folder / "ab"[number % 2] / f"{number:02d}z.jpg", quality=60
        )
    prepared = import_set(folder, "drawn", ColumnUse("part"), size=32)
    data = load(DataSpec(name="drawn", validation=0.0, auxiliary=0.0))
    assert prepared.division.copies == 120
    assert (data.split[::2] == data.split[1::2]).all()
    assert set(data.split.tolist()) == {0, 3}
