"""The real packed sets, where a machine has them: counts as published with the packed files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from leakrange.data import Samples, load
from leakrange.jobs.recipe import DataSpec

BESIDE = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(autouse=True)
def real_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    root = Path(os.environ.get("LEAKRANGE_DATA") or BESIDE)
    monkeypatch.setenv("LEAKRANGE_DATA", str(root))
    return root


def real(name: str, **options: int) -> Samples:
    path = (
        Path(os.environ["LEAKRANGE_DATA"]) / name.removesuffix("-hair") / f"{name.removesuffix('-hair')}.npz"
    )
    if not path.is_file():
        pytest.skip(f"real data set {name} is not here: set LEAKRANGE_DATA to the folder that has {name}/")
    return load(DataSpec(name=name, **options))


def counts(found: Samples, attribute: str) -> list[int]:
    return [int(n) for n in np.bincount(found.labels[attribute] + 1, minlength=2)[1:]]


def test_utkface() -> None:
    found = real("utkface")
    assert found.values.shape == (9596, 64, 64, 3)
    assert counts(found, "gender") == [4307, 5289]
    assert counts(found, "race-5") == [5139, 400, 1545, 1442, 1070]
    assert counts(found, "race-3") == [5139, 1545, 400 + 1442 + 1070]
    assert abs((found.split == 3).mean() - 0.2) < 0.001
    # 360 images share a group with another; none of these groups is cut.
    numbers, size = np.unique(found.group, return_counts=True)
    assert size[size > 1].sum() == 360
    for number in numbers[size > 1]:
        assert len(set(found.split[found.group == number])) == 1


def test_celeba_sub_and_its_hair_filter() -> None:
    found = real("celeba_sub")
    assert found.values.shape == (6230, 64, 64, 3)
    assert counts(found, "male") == [6230 - 2468, 2468]
    assert counts(found, "smiling") == [6230 - 2866, 2866]
    # The official 1,238, and one training image that copies one of them.
    assert len(found.where("test")) == 1239
    hair = real("celeba_sub-hair")
    assert len(hair) == (found.labels["hair-color"] >= 0).sum()
    assert sum(counts(hair, "hair-color")) == len(hair)


def test_lfw() -> None:
    found = real("lfw")
    assert found.values.shape == (13231, 64, 64, 3)
    assert counts(found, "gender") == [2961, 10261]
    assert len(np.unique(found.labels["identity"])) == 5747


@pytest.mark.parametrize("name", ["mnist", "fashion_mnist"])
def test_mnists(name: str) -> None:
    found = real(name)
    assert found.values.shape == (70_000, 28, 28, 1)
    assert np.bincount(found.split).tolist() == [45_000, 6_000, 9_000, 10_000]


def test_cifar10() -> None:
    found = real("cifar10", limit=200)
    assert found.values.shape == (800, 32, 32, 3)
    assert set(found.labels["object"]) == set(range(10))
