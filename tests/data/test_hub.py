"""Conversion of hub sets, on small local ones made with the same library; nothing is downloaded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from leakrange.data import datasets, load
from leakrange.data.hub import HubSet, convert, numbers
from leakrange.data.sets.celeba import CELEBA_NAMES
from leakrange.data.sets.fashion_mnist import FASHION_ITEMS
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable
from tests.data.packing import pictures

HUB = [name for name in datasets if name.startswith("hub-") and name != "hub-adult"]
"""Those of Hugging Face; adult is OpenML's, which `test_tables` asks."""


@pytest.fixture(scope="module")
def hf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The ``datasets`` package, with its own cache out of the way."""
    library = pytest.importorskip(
        "datasets",
        reason="Hugging Face datasets is not installed (extra 'hub'): its conversion is not tested",
    )
    library.disable_progress_bars()
    before = library.config.HF_DATASETS_CACHE
    library.config.HF_DATASETS_CACHE = tmp_path_factory.mktemp("hf")
    yield library
    library.config.HF_DATASETS_CACHE = before
    library.enable_progress_bars()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_CACHE", str(tmp_path))
    return tmp_path


def entry(name: str) -> type[HubSet]:
    found = datasets[name]
    assert issubclass(found, HubSet)
    return found


def parquet(hf: Any, folder: Path, part: str, columns: dict[str, Any], features: dict[str, Any]) -> Any:
    """A split as the hub gives it: written to Parquet and read back, images as encoded bytes."""
    path = folder / f"{part}.parquet"
    hf.Dataset.from_dict(columns, features=hf.Features(features)).to_parquet(str(path))
    return hf.load_dataset("parquet", data_files={part: str(path)}, cache_dir=str(folder / "cache"))[part]


def images(n: int, size: int) -> list[Image.Image]:
    return [Image.fromarray(p) for p in pictures(n, size)]


def test_mnist_columns_become_digits(hf: Any, tmp_path: Path) -> None:
    features = {"image": hf.Image(), "label": hf.ClassLabel(names=list("0123456789"))}
    grey = [p.convert("L") for p in images(30, 28)]
    rows = (
        {"image": grey[:20], "label": [i % 10 for i in range(20)]},
        {"image": grey[20:], "label": list(range(9, -1, -1))},
    )
    parts = {
        part: parquet(hf, tmp_path, part, columns, features)
        for part, columns in zip(("train", "test"), rows, strict=True)
    }
    told: list[tuple[int, int]] = []
    arrays = convert(entry("hub-mnist"), parts, lambda done, total: told.append((done, total)))
    assert (arrays["images"][..., 0] == np.stack([np.asarray(g) for g in grey])).all()
    assert arrays["label_digit"].tolist() == [*[i % 10 for i in range(20)], *range(9, -1, -1)]
    assert arrays["official"].tolist() == [0] * 20 + [3] * 10
    assert told == [(i + 1, 30) for i in range(30)]


def test_fashion_and_cifar_names(hf: Any, tmp_path: Path) -> None:
    names = ["T - shirt / top", *FASHION_ITEMS[1:]]
    features = {"image": hf.Image(), "label": hf.ClassLabel(names=names)}
    rows = {"image": [p.convert("L") for p in images(10, 28)], "label": list(range(10))}
    part = parquet(hf, tmp_path, "train", rows, features)
    arrays = convert(entry("hub-fashion-mnist"), {"train": part, "test": part}, lambda *_: None)
    assert arrays["label_item"].tolist() == [*range(10), *range(10)]
    rows = {"img": images(10, 32), "label": list(range(10))}
    plain = parquet(hf, tmp_path, "plain", rows, {"img": hf.Image(), "label": hf.Value("int64")})
    arrays = convert(entry("hub-cifar10"), {"train": plain, "test": plain}, lambda *_: None)
    assert arrays["label_object"].tolist() == [*range(10), *range(10)]
    assert arrays["label_animal"].tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 0, 0] * 2


def test_cifar100_has_two_levels() -> None:
    found = entry("hub-cifar100")
    labels = found.labels({"fine_label": ["apple", "cra", 99], "coarse_label": ["fish", 0, "vehicles_2"]})
    assert labels["object"].tolist() == [0, 26, 99]
    assert labels["kind"].tolist() == [1, 0, 19]
    assert found.attributes["object"].classes[26] == "crab"
    assert len(found.attributes["object"].classes) == 100


def test_celeba_is_cropped_in_the_middle(hf: Any, tmp_path: Path) -> None:
    aligned = np.zeros((6, 218, 178, 3), dtype=np.uint8)
    aligned[:, 35:183, 15:163] = 200  # the middle 148 x 148
    rows: dict[str, Any] = {
        "image": [Image.fromarray(a) for a in aligned],
        "celeb_id": [1, 2, 3, 10177, 5, 6],
    }
    rows |= {name: [i % 2 == 0 for i in range(6)] for name in CELEBA_NAMES}
    features = {"image": hf.Image(), "celeb_id": hf.Value("int64")}
    features |= {name: hf.Value("bool") for name in CELEBA_NAMES}
    part = parquet(hf, tmp_path, "train", rows, features)
    parts = {"train": part, "valid": part.select([0]), "test": part.select([1, 2])}
    arrays = convert(entry("hub-celeba"), parts, lambda *_: None)
    assert arrays["images"].shape == (9, 64, 64, 3)
    assert (arrays["images"] > 190).all()
    assert arrays["label_identity"].tolist() == [0, 1, 2, 10176, 4, 5, 0, 1, 2]
    assert arrays["label_smiling"].tolist() == [1, 0, 1, 0, 1, 0, 1, 0, 1]
    assert arrays["official"].tolist() == [0] * 6 + [1] + [3] * 2


def test_celeba_by_hair_colour_is_cut_from_the_one_download(cache: Path) -> None:
    whole = {f"label_{name}": np.zeros(4, np.int64) for name in entry("hub-celeba").attributes}
    whole["label_hair-color"] = np.array([0, -1, 2, -1])
    whole["label_identity"] = np.arange(4)
    path = entry("hub-celeba").cached()
    path.parent.mkdir(parents=True, exist_ok=True)
    images, official = np.zeros((4, 64, 64, 3), np.uint8), np.array([0, 0, 1, 3], np.uint8)
    np.savez(path, images=images, official=official, **whole)
    cut = entry("hub-celeba-hair").content()
    assert entry("hub-celeba-hair").available() is None
    assert cut.values.shape == (2, 64, 64, 3)
    assert cut.labels["identity"].tolist() == [0, 2]
    assert cut.official is not None
    assert cut.official.tolist() == [0, 1]


def test_utkface_is_read_from_words_and_split_by_seed(
    hf: Any, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    n = 50
    races = ["White", "Black", "Asian", "Indian", "Others"]
    rows = {
        "image": images(n, 200),
        "age": [20 + i for i in range(n)],
        "gender": ["Male" if i % 2 == 0 else "Female" for i in range(n)],
        "ethnicity": [races[i % 5] for i in range(n)],
    }
    features = {"image": hf.Image(), "age": hf.Value("int64")}
    features |= {"gender": hf.Value("string"), "ethnicity": hf.Value("string")}
    part = parquet(hf, tmp_path, "train", rows, features)
    asked: list[tuple[str, str | None]] = []

    def local(name: str, config: str | None) -> dict[str, Any]:
        asked.append((name, config))
        return {"train": part}

    monkeypatch.setattr(hf, "load_dataset", local)
    found = load(DataSpec(name="hub-utkface"))
    assert asked == [("nu-delta/utkface", None)]
    assert found.values.shape == (n, 64, 64, 3)
    assert found.labels["gender"].tolist() == [i % 2 for i in range(n)]
    assert found.labels["race-5"].tolist() == [i % 5 for i in range(n)]
    assert found.labels["age-2"].tolist() == [int(i > 10) for i in range(n)]
    assert len(found.where("test")) == 10
    # Converted once: another seed is read from the cache, and no half-written file is left.
    again = load(DataSpec(name="hub-utkface", seed=1))
    assert len(asked) == 1
    assert (again.values == found.values).all()
    assert [p.name for p in (cache / "hub").iterdir()] == ["hub-utkface.npz"]


def test_hub_that_has_changed(hf: Any, tmp_path: Path) -> None:
    part = parquet(hf, tmp_path, "train", {"picture": images(3, 28)}, {"picture": hf.Image()})
    with pytest.raises(DataUnavailable, match="has no image, label, test"):
        convert(entry("hub-mnist"), {"train": part}, lambda *_: None)
    with pytest.raises(DataUnavailable, match="holds 'other', which is none of male, female"):
        numbers("gender", ["male", "Other"], ("male", "female"))


@pytest.mark.parametrize("name", HUB)
def test_offline_is_said_before_anything_is_tried(
    name: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataUnavailable, match=r"HF_HUB_OFFLINE|leakrange\[hub\]"):
        load(DataSpec(name=name))


def test_hub_that_cannot_be_reached(hf: Any, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The library's own switch, which it reads from the environment when it is imported.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr(hf.config, "HF_HUB_OFFLINE", True)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    with pytest.raises(DataUnavailable, match="cannot be downloaded from the Hugging Face hub") as error:
        load(DataSpec(name="hub-mnist"))
    assert error.value.hint
    assert "copy hub-mnist.npz from a machine that has it" in error.value.hint
    assert not list(cache.rglob("hub-mnist*"))


def test_broken_cache_is_said_to_be_broken(cache: Path) -> None:
    (cache / "hub").mkdir()
    (cache / "hub" / "hub-mnist.npz").write_bytes(b"PK broken")
    with pytest.raises(DataUnavailable, match=r"hub-mnist\.npz cannot be read"):
        load(DataSpec(name="hub-mnist"))
