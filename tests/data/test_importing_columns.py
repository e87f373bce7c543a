"""Columns of pictures, as Hugging Face stores them, become a data set of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from leakrange.data import datasets, load
from leakrange.data.importing import ColumnUse, import_set
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable, InvalidInput

pyarrow = pytest.importorskip("pyarrow")
hugging_face = pytest.importorskip("datasets")

USE = ColumnUse("animal", ("age",))
SHOWN = np.random.default_rng(6).integers(0, 256, (60, 24, 24, 3), dtype=np.uint8)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    return tmp_path


def animals(*further: str) -> Any:
    """A set of pictures with names of classes, a column that says nothing for one row, and further
    columns of pictures."""
    features = {"photo": hugging_face.Image(), "animal": hugging_face.ClassLabel(names=["dog", "cat"])}
    features |= {"age": hugging_face.Value("int64"), "weight": hugging_face.Value("float64")}
    columns: dict[str, Any] = {
        "photo": [Image.fromarray(each) for each in SHOWN],
        "animal": [i % 3 // 2 for i in range(60)],
        "age": [None, *(i % 2 + 7 for i in range(1, 60))],
        "weight": [i / 4 for i in range(60)],
    }
    for name in further:
        features[name], columns[name] = hugging_face.Image(), columns["photo"]
    return hugging_face.Dataset.from_dict(columns, features=hugging_face.Features(features))


def written(root: Path, form: str, *further: str) -> Path:
    if form == "parquet":
        animals(*further).to_parquet(str(root / "a.parquet"), batch_size=25)
        return root / "a.parquet"
    animals(*further).save_to_disk(root / "saved", num_shards=2)
    return root / "saved"


@pytest.mark.parametrize("form", ["parquet", "saved"])
def test_a_column_of_pictures_is_the_samples_and_the_others_say_more(root: Path, form: str) -> None:
    prepared = import_set(written(root, form), "shown", USE, size=24)
    data = load(DataSpec(name="shown", validation=0.0, auxiliary=0.0))
    assert (data.values == SHOWN).all()
    assert data.attributes["animal"].classes == ("cat", "dog")
    assert data.labels["animal"].tolist() == [1 - i % 3 // 2 for i in range(60)]
    assert data.attributes["age"].classes == ("7", "8")
    assert data.labels["age"].tolist() == [-1, *(i % 2 for i in range(1, 60))]
    assert prepared.sample.encoding == "picture"


def test_without_its_pictures_it_is_a_table(root: Path) -> None:
    prepared = import_set(
        written(root, "parquet"), "shown", ColumnUse("animal", ("age",), without=("photo",))
    )
    assert prepared.sample.columns == ("weight",)
    assert [plan.name for plan in prepared.columns if plan.rule == "as asked"] == ["photo"]


def test_of_several_columns_of_pictures_one_is_chosen_by_leaving_out_the_others(root: Path) -> None:
    path = written(root, "saved", "mask")
    with pytest.raises(InvalidInput, match="several columns of pictures: photo, mask") as refused:
        import_set(path, "shown", USE)
    assert "--without" in str(refused.value.hint)
    import_set(path, "shown", ColumnUse("animal", without=("mask",)), size=24)
    assert load(DataSpec(name="shown")).spec.shape == (24, 24, 3)


def test_pictures_that_are_not_in_the_file_are_not_looked_for_elsewhere(root: Path) -> None:
    Image.fromarray(SHOWN[0]).save(root / "elsewhere.png")
    rows = [{"bytes": None, "path": str(root / "elsewhere.png")} for _ in range(60)]
    kind = pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})
    table = pyarrow.table({"photo": pyarrow.array(rows, kind), "animal": ["a", "b"] * 30})
    pyarrow.parquet.write_table(table, root / "a.parquet")
    with pytest.raises(InvalidInput, match="the picture of row 1 is not in the file"):
        import_set(root / "a.parquet", "shown", ColumnUse("animal"))
    assert "shown" not in datasets


def test_broken_pictures_and_unknown_columns_are_named(root: Path) -> None:
    table = pyarrow.parquet.read_table(written(root, "parquet"))
    rows = table.to_pylist()
    rows[33]["photo"]["bytes"] = rows[33]["photo"]["bytes"][:40]
    broken = pyarrow.Table.from_pylist(rows, schema=table.schema)
    pyarrow.parquet.write_table(broken, root / "b.parquet")
    with pytest.raises(DataUnavailable, match="the picture of row 34 is not a JPEG, PNG or WEBP"):
        import_set(root / "b.parquet", "shown", USE)
    with pytest.raises(InvalidInput, match="there is no column 'height'"):
        import_set(root / "a.parquet", "shown", ColumnUse("height"))
    with pytest.raises(InvalidInput, match="there is no column 'photo'"):
        import_set(root / "a.parquet", "shown", ColumnUse("photo"))
    assert "shown" not in datasets
