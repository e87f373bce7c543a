"""The real packed sets, where a machine has them: counts as published with the packed files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from leakrange.data import Samples, datasets, load
from leakrange.data.samples import SPLITS
from leakrange.jobs.recipe import DataSpec
from leakrange.papers.hbc.paper import OTHER_HAIR

BESIDE = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(autouse=True)
def real_data(monkeypatch: pytest.MonkeyPatch) -> Path:
    root = Path(os.environ.get("LEAKRANGE_DATA") or BESIDE)
    monkeypatch.setenv("LEAKRANGE_DATA", str(root))
    return root


def real(name: str, **options: float) -> Samples:
    folder = name.split("-")[0]
    if not (Path(os.environ["LEAKRANGE_DATA"]) / folder).is_dir():
        pytest.skip(f"real data set {name} is not here: set LEAKRANGE_DATA to the folder that has {folder}/")
    return load(DataSpec(name=name, **options))


def unchanged(found: Samples, begins: str) -> None:
    """A set that gives other samples than before has another version."""
    assert datasets[found.name].version == 1
    assert found.fingerprint.startswith(begins)


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


@pytest.mark.parametrize("name", ["celeba_sub-hair", "celeba_sub-other-hair"])
@pytest.mark.parametrize("auxiliary", [0.0, 0.2])
def test_no_person_of_a_hair_set_of_celeba_is_in_two_splits(name: str, auxiliary: float) -> None:
    found = real(name, auxiliary=auxiliary)
    people = [set(found.labels["identity"][found.where(part)]) for part in SPLITS]
    theirs = real(OTHER_HAIR.get(name, "celeba_sub-hair"), auxiliary=auxiliary)
    assert not people[3] & set(theirs.labels["identity"][theirs.split < 3])
    assert sum(map(len, people)) == len(set().union(*people)) > 240
    # The 624 (614) official ones, and all of people whom copies tie to those.
    assert len(found.where("test")) == {"celeba_sub-hair": 705, "celeba_sub-other-hair": 648}[name]
    assert len(found.where("validation")) == pytest.approx(0.1 * (len(found) - 700), abs=15)
    assert datasets[name].version == 2


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


def test_adult() -> None:
    found = real("adult")
    unchanged(found, "4392ca5834dc")
    assert found.values.shape == (48_842, 70)
    assert counts(found, "income") == [37_155, 11_687]
    assert counts(found, "gender") == [16_192, 32_650]
    # The official 16,281, and 25 training rows that are test rows, too.
    assert len(found.where("test")) == 16_306
    # TAPPFL's table of marital status has seven values, of which the largest has 46 %.
    assert max(counts(found, "marital-status")) == 22_379
    known = found.values / np.array(found.spec.scale) + np.array(found.spec.offset)
    quantities = [i for i, name in enumerate(found.spec.columns or ()) if "=" not in name]
    assert np.abs(known[:, quantities].mean(axis=0)).max() < 0.01
    assert len(real("adult-full").spec.columns or ()) == 91


def test_bank_churn() -> None:
    found = real("bank_churn")
    unchanged(found, "1e67dafc653c")
    assert counts(found, "exited") == [7963, 2037]
    assert counts(found, "gender") == [4543, 5457]
    assert counts(found, "geography") == [5014, 2509, 2477]


def test_hmda() -> None:
    found = real("hmda")
    unchanged(found, "1beadadf49b3")
    assert found.values.shape == (160_338, 10)
    assert counts(found, "high-priced") == [160_338 - 15_505, 15_505]
    assert counts(found, "race") == [115_131, 10_852, 10_841, 611, 355]
    assert counts(found, "race-2") == [115_131, 22_659]
    assert counts(found, "ethnicity") == [121_184, 16_693]
    assert counts(found, "gender") == [33_523, 53_014]


def test_fsdd() -> None:
    found = real("fsdd-audio")
    unchanged(found, "6c1aa53db598")
    assert counts(found, "digit") == [300] * 10
    assert counts(found, "speaker") == [500] * 6
    assert len(found.where("test")) == 300
    assert (found.values != 0).any(axis=(1, 2)).all()


def test_hmp() -> None:
    found = real("hmp")
    unchanged(found, "a61d3b3d9f46")
    assert found.values.shape == (5721, 128, 3)
    assert counts(found, "gender") == [3637, 2084]
    assert len(found.where("test")) == 1119
    assert len(np.unique(found.group)) == 838
    known = found.values / np.array(found.spec.scale) + np.array(found.spec.offset)
    assert np.abs(known.mean(axis=(0, 1))).max() < 0.05
