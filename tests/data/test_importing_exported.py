"""Sets of the Hugging Face hub by name, from a small server of the hub's own format."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from leakrange.data import datasets, load
from leakrange.data.importing import ColumnUse, import_set
from leakrange.jobs.recipe import DataSpec
from leakrange.wire.errors import DataUnavailable, InvalidInput
from tests.serving import serving

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("huggingface_hub")

USE = ColumnUse("kind", ("age",))
COMMIT = "5" * 40


class Hub:
    """What the hub answers of exports: what their branch holds, and its files with their headers. asked: the
    requests for files' contents."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.asked: list[str] = []
        self.app = Starlette(
            routes=[
                Route("/api/datasets/zoo/{name}/revision/refs/convert/parquet", self.export),
                Route(f"/datasets/zoo/animals/resolve/{COMMIT}/{{path:path}}", self.file),
            ]
        )

    async def export(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name != "animals":
            code = "RevisionNotFound" if name == "by-code" else "RepoNotFound"
            return JSONResponse({"error": code}, 404, {"X-Error-Code": code})
        files = [{"rfilename": path} for path in (".gitattributes", *self.files)]
        facts = {"_id": "6", "id": "zoo/animals", "author": "zoo", "private": False, "gated": False}
        return JSONResponse({**facts, "sha": COMMIT, "tags": [], "siblings": files})

    async def file(self, request: Request) -> Response:
        content = self.files[request.path_params["path"]]
        if request.method == "GET":
            self.asked.append(request.path_params["path"])
        headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{hashlib.sha1(content).hexdigest()}"'}
        return Response(content, media_type="application/octet-stream", headers=headers)


def rows(begin: int, end: int) -> dict[str, Any]:
    return {
        "kind": [["cat", "dog"][i % 2] for i in range(begin, end)],
        "age": [i % 3 for i in range(begin, end)],
        "weight": [i / 2 for i in range(begin, end)],
    }


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    import pyarrow

    monkeypatch.setenv("LEAKRANGE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("LEAKRANGE_CACHE", str(tmp_path / "cache"))
    files = {}
    for place, begin, end in (
        ("default/train/0000", 0, 40),
        ("default/train/0001", 40, 70),
        ("default/test/0000", 70, 95),
    ):
        parquet.write_table(pyarrow.table(rows(begin, end)), tmp_path / "a.parquet")
        files[f"{place}.parquet"] = (tmp_path / "a.parquet").read_bytes()
    made = Hub(files)
    with serving(made.app) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        yield made


def test_a_split_of_several_files_is_imported_and_fetched_once(hub: Hub) -> None:
    import_set(Path("hf:zoo/animals/train"), "animals", USE, dry_run=True)
    import_set(Path("hf:zoo/animals:default/train"), "animals", USE)
    data = load(DataSpec(name="animals", validation=0.0, auxiliary=0.0))
    assert data.values[:, 0].tolist() == (np.arange(70) / 2).tolist()
    assert data.labels["age"].tolist() == (np.arange(70) % 3).tolist()
    assert datasets["animals"].source == "imported from hf:zoo/animals:default/train"
    assert hub.asked == ["default/train/0000.parquet", "default/train/0001.parquet"]


@pytest.mark.parametrize(
    ("name", "error", "sentence", "hint"),
    [
        ("hf:zoo/animals", InvalidInput, "has several splits; there are: test, train", "hf:owner/name/split"),
        ("hf:zoo/animals/night", InvalidInput, "has no splits 'night'; there are: test, train", "name one"),
        ("hf:zoo/animals:big/train", InvalidInput, "has no configurations 'big'", "there are: default"),
        ("hf:animals", InvalidInput, "names no set of the hub", "hf:owner/name:config/split"),
        ("hf:zoo/plants", DataUnavailable, "has no set hf:zoo/plants, or does not show it", "HF_TOKEN"),
        ("hf:zoo/by-code", DataUnavailable, "has no export to Parquet of hf:zoo/by-code", "save_to_disk"),
    ],
)
def test_what_the_hub_does_not_have_is_said_with_what_to_do(
    hub: Hub, name: str, error: type[InvalidInput], sentence: str, hint: str
) -> None:
    with pytest.raises(error) as refused:
        import_set(Path(name), "animals", USE)
    assert sentence in refused.value.detail
    assert hint in f"{refused.value.detail} {refused.value.hint}"
    assert "animals" not in datasets


def test_without_a_network_it_says_what_to_do(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DataUnavailable, match="cannot be fetched from the hub") as refused:
        import_set(Path("hf:zoo/animals/train"), "animals", USE)
    assert "save_to_disk" in str(refused.value.hint)


def test_a_broken_export_is_refused(hub: Hub) -> None:
    hub.files["default/train/0001.parquet"] = hub.files["default/train/0001.parquet"][:200]
    with pytest.raises(InvalidInput, match="cannot be read"):
        import_set(Path("hf:zoo/animals/train"), "animals", USE)
    assert "animals" not in datasets
