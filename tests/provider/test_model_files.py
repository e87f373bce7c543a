"""Model files that others made, served over HTTP as any artifact."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import onnxruntime
import pytest
from onnx import helper
from PIL import Image

from leakrange.providers.foreign import folder, format
from leakrange.services.provider.main import create_provider
from leakrange.wire.tensors import decode_npy, encode_npy
from tests.provider.conftest import OPERATOR, Provider, settings_for
from tests.provider.test_native import NPY, problem
from tests.providers.foreign.graphs import WEIGHTS, card, graph, linear
from tests.serving import serving

SAMPLES = np.random.default_rng(7).normal(20, 30, (5, 2)).astype(np.float32)
FEATURES = "input: {encoding: vector, shape: [2]}\nrelease: features"
ASK_NPY = NPY | {"Accept": "application/x-npy"}


def keep(root: Path, model: Any, described: Any) -> str:
    file = root / "given"
    file.write_bytes(model.SerializeToString())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folder, "apart", lambda work, *args: work(*args))
        return folder.add(root, file, described).digest


@pytest.fixture(scope="module")
def files(models_dir: Path) -> dict[str, str]:
    """The digests of model files."""
    log = graph(
        [
            helper.make_node("Add", ["x", "b"], ["a"]),
            helper.make_node("Log", ["a"], ["l"]),
            helper.make_node("MatMul", ["l", "w"], ["y"]),
        ],
        weights={"w": WEIGHTS, "b": np.array([9], np.float32)},
    )
    return {
        "softmax": keep(models_dir, linear(), card()),
        "logits": keep(models_dir, linear(softmax=False), card(release="logits")),
        "log": keep(models_dir, log, card(release="logits")),
        "features": keep(models_dir, graph([helper.make_node("Abs", ["x"], ["y"])]), card(FEATURES)),
    }


def asked(client: httpx.Client, model: str, endpoint: str, samples: Any = SAMPLES) -> Any:
    answer = client.post(f"/v1/models/{model}/{endpoint}", content=encode_npy(samples), headers=ASK_NPY)
    assert answer.status_code == 200, answer.text
    return decode_npy(answer.content)


def test_its_answers_are_those_of_onnxruntime(provider: Provider, files: dict[str, str]) -> None:
    told = provider.deploy("file", files["softmax"], release="softmax").json()
    assert told["classes"] == ["low", "middle", "high"]
    assert (told["task"], told["releases"], told["default_release"]) == (
        "income",
        ["softmax", "sample"],
        "softmax",
    )
    assert (told["sha256"], told["parameters"], told["features"]) == ("", 0, 0)
    session = onnxruntime.InferenceSession(linear().SerializeToString())
    scaled = SAMPLES / np.array([40, 10], np.float32) + np.array([-1, 0.5], np.float32)
    [wanted] = session.run(None, {"x": scaled})
    np.testing.assert_array_equal(asked(provider.client, "file", "softmax"), wanted)
    rows = "hours,age\n" + "".join(f"{hours},{age}\n" for age, hours in SAMPLES.tolist())
    answer = provider.client.post(
        "/v1/models/file/softmax", content=rows, headers={"Content-Type": "text/csv"}
    )
    np.testing.assert_allclose(answer.json()["values"], wanted, rtol=1e-6)
    upload = provider.client.post(
        "/v1/models/file/outputs", json={"release": "softmax", "values": wanted.tolist()}
    )
    assert upload.json()["decisions"] == wanted.argmax(axis=1).tolist()
    upload = provider.client.post(
        "/v1/models/file/outputs", json={"release": "sample", "values": SAMPLES.tolist()}
    )
    assert upload.json()["decisions"] == wanted.argmax(axis=1).tolist()
    page = provider.client.get("/v1/operator/models/file/intake", headers=OPERATOR).json()
    assert [each["inferred"] for each in page["records"]] == [None, None]  # it has no decoder
    provider.client.delete("/v1/operator/models/file", headers=OPERATOR)
    page = provider.client.get("/v1/operator/models/file/intake", headers=OPERATOR).json()
    assert len(page["records"]) == 2


def test_it_gives_what_it_has_and_nothing_else(provider: Provider, files: dict[str, str]) -> None:
    provider.deploy("file", files["softmax"], release="softmax").raise_for_status()
    for method, endpoint in (
        ("POST", "logits"),
        ("POST", "features"),
        ("GET", "artifact"),
        ("POST", "verification"),
    ):
        body = problem(provider.client.request(method, f"/v1/models/file/{endpoint}"), 404, "not-found")
        assert body["hint"] == "it is a classifier service, which answers: softmax, sample, outputs"
    refused = provider.client.post("/v1/models/file/outputs", json={"release": "features", "values": [[1.0]]})
    assert "releases none" in problem(refused, 422, "invalid-input")["detail"]
    body = problem(provider.deploy("other", files["softmax"]), 422, "invalid-input")
    assert body["detail"] == "this model gives softmax, and not logits"
    assert body["hint"] == 'deploy it with "release": "softmax"'
    body = problem(provider.deploy("other", files["features"], release="features"), 422, "invalid-input")
    assert "cannot be served as a classifier" in body["detail"]
    problem(provider.deploy("other", files["logits"], service="verification"), 422, "invalid-input")
    problem(provider.client.get("/v1/models/other"), 404, "unknown-model")


def test_features_are_a_service_of_their_own(provider: Provider, files: dict[str, str]) -> None:
    told = provider.deploy("vectors", files["features"], service="features", normalised=True).json()
    assert (told["releases"], told["features"]) == (["features"], 2)
    lengths = np.linalg.norm(SAMPLES, axis=1, keepdims=True)
    np.testing.assert_allclose(
        asked(provider.client, "vectors", "features"), abs(SAMPLES) / lengths, rtol=1e-6
    )


def test_a_sample_without_numbers_is_refused_and_the_next_one_answered(
    provider: Provider, files: dict[str, str]
) -> None:
    provider.deploy("log", files["log"]).raise_for_status()
    bad = np.array([[10, 20], [-9999, 1]], np.float32)
    answer = provider.client.post("/v1/models/log/logits", content=encode_npy(bad), headers=ASK_NPY)
    assert "no finite numbers" in problem(answer, 422, "invalid-input")["detail"]
    assert np.isfinite(asked(provider.client, "log", "logits", abs(SAMPLES))).all()


@pytest.fixture
def own(files: dict[str, str], models_dir: Path, tmp_path: Path) -> tuple[Path, Path]:
    """Folders of models and of state for a provider of a test's own, with one file deployed."""
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url) as client,
    ):
        first = Provider(url, client, models_dir).deploy("kept", files["logits"])
        first.raise_for_status()
    return models_dir, tmp_path


def test_it_is_served_again_after_a_restart(own: tuple[Path, Path]) -> None:
    with serving(create_provider(settings_for(*own))) as url, httpx.Client(base_url=url) as client:
        assert asked(client, "kept", "softmax").sum(axis=1) == pytest.approx(1.0)


def test_without_the_packages_it_says_what_to_install(
    provider: Provider, files: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(format, "find_spec", lambda _name: None)
    body = problem(provider.deploy("absent", files["logits"]), 422, "invalid-artifact")
    assert "onnx and onnxruntime" in body["detail"]
    assert "pip install 'leakrange[model-files]'" in body["hint"]


def test_pictures_come_as_png(provider: Provider, models_dir: Path) -> None:
    described = card("input: {encoding: picture, shape: [4, 5, 3], scale: 255}\nrelease: features")
    model = graph([helper.make_node("Flatten", ["x"], ["y"])], takes=("n", 3, 4, 5))
    provider.deploy("pixels", keep(models_dir, model, described), service="features").raise_for_status()
    picture = np.random.default_rng(0).integers(0, 256, (4, 5, 3)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(picture).save(stream, "PNG")
    answer = provider.client.post(
        "/v1/models/pixels/features", files={"sample": ("a.png", stream.getvalue(), "image/png")}
    )
    assert answer.status_code == 200, answer.text
    np.testing.assert_allclose(
        answer.json()["values"], [picture.transpose(2, 0, 1).reshape(-1) / 255], rtol=1e-6
    )
