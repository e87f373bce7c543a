"""Labels, groups and splits are told without drawing or decoding an image, and are those of the whole set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from leakrange.data import load, load_labels
from leakrange.data.hub import HubSet
from leakrange.data.sets import celeba, synthfaces
from leakrange.jobs.recipe import Crowd, DataSpec, Subset
from tests.data.labels import same_but_the_images

DRAWN = {
    "faces": DataSpec(name="synthfaces", size=16, count=300),
    "other faces": DataSpec(name="synthfaces", size=16, count=300, seed=7, validation=0.2, limit=50),
    "a pool": DataSpec(name="synthfaces", size=16, count=300, subset=Subset(pool=60, share=0.4, seed=3)),
    "people": DataSpec(name="synthpeople", size=16, count=2560, auxiliary=0.0),
    "a crowd": DataSpec(
        name="synthpeople",
        size=16,
        auxiliary=0.0,
        crowd=Crowd(people=20, images=6, public=20, students=5, enrolled=6, held=2),
    ),
    "points": DataSpec(name="quadrants", count=500),
    "digits": DataSpec(name="digits", limit=40),
}


@pytest.mark.parametrize("spec", DRAWN.values(), ids=DRAWN)
def test_they_are_those_of_the_whole_set(spec: DataSpec) -> None:
    same_but_the_images(load_labels(spec), load(spec))


@pytest.mark.parametrize("name", ["synthfaces", "synthpeople"])
def test_a_million_faces_have_labels_before_any_is_drawn(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def draw(*_: object) -> None:
        raise AssertionError("a face is drawn")

    monkeypatch.setattr(synthfaces, "draw", draw)
    told = load_labels(DataSpec(name=name, size=64, count=1_000_000))
    assert len(told) == (1_000_000 if name == "synthfaces" else 30 * 256)


def test_a_converted_set_is_not_read_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKRANGE_CACHE", str(tmp_path))
    entry: type[HubSet] = celeba.HubCelebA
    path = entry.cached()
    path.parent.mkdir(parents=True)
    labels = {f"label_{name}": np.arange(30) % 2 for name in entry.attributes}
    labels["label_hair-color"] = np.arange(30) % 4 - 1
    labels["label_identity"] = np.arange(30)
    official = (np.arange(30) % 5 == 0).astype(np.uint8) * 3
    np.savez(path, official=official, **labels)  # no images
    assert len(load_labels(DataSpec(name="hub-celeba"))) == 30
    assert (load_labels(DataSpec(name="hub-celeba-hair")).labels["hair-color"] >= 0).all()
