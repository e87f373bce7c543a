from __future__ import annotations

import base64
import hashlib
import io
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
from numpy.typing import NDArray
from PIL import Image

from leakrange.providers.model_file import load_classifier
from leakrange.services.provider.main import create_provider
from leakrange.wire.samples import SampleSpec
from leakrange.wire.schemas import ModelCard
from leakrange.wire.tensors import decode_npy, encode_npy
from tests.provider.conftest import Provider, settings_for
from tests.provider.tiny import CLASSES, SHAPE
from tests.serving import serving

NPY = {"Content-Type": "application/x-npy"}
Pixels = NDArray[np.uint8]


def png(image: Pixels, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image[..., 0]).save(stream, kind)
    return stream.getvalue()


def problem(answer: httpx.Response, status: int, slug: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["type"].rpartition("/")[2] == slug
    return body


def test_cards_tell_what_a_client_needs(provider: Provider, digests: dict[str, str]) -> None:
    listed = provider.client.get("/v1/models").json()
    assert list(listed) == ["models"]
    assert [card["name"] for card in listed["models"]] == ["curious", "honest"]
    card = ModelCard.model_validate(provider.client.get("/v1/models/honest").json())
    assert card.model_dump(mode="json") == listed["models"][1]
    assert re.fullmatch("[0-9a-f]{12}", card.version)
    assert (card.task, tuple(card.classes), card.input) == ("digit", CLASSES, SampleSpec.picture(*SHAPE))
    assert card.releases == ["logits", "softmax", "features", "sample"]
    assert (card.default_release, card.max_batch) == ("logits", 256)
    classifier, _ = load_classifier(provider.client.get("/v1/models/honest/artifact").content)
    assert card.parameters == sum(p.numel() for p in classifier.parameters())


def test_the_artifact_is_what_the_card_says(
    provider: Provider, images: Pixels, digests: dict[str, str]
) -> None:
    card = provider.client.get("/v1/models/honest").json()
    answer = provider.client.get("/v1/models/honest/artifact")
    digest = hashlib.sha256(answer.content)
    assert digest.hexdigest() == card["sha256"]
    assert answer.headers["repr-digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
    again = provider.client.get(
        "/v1/models/honest/artifact", headers={"If-None-Match": answer.headers["etag"]}
    )
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("kind", ["logits", "softmax", "features"])
def test_every_encoding_gets_the_models_own_answer(
    provider: Provider, images: Pixels, digests: dict[str, str], kind: str
) -> None:
    expected = provider.expected(digests["honest"], images, kind)
    path = f"/v1/models/honest/{kind}"
    post = provider.client.post
    floats = images.astype(np.float32) / np.float32(255)
    answers = [
        post(path, content=encode_npy(images), headers=NPY),
        post(path, content=encode_npy(floats), headers=NPY),
        post(path, json={"inputs": images.tolist()}),
        post(path, content=orjson.dumps({"inputs": floats}, option=orjson.OPT_SERIALIZE_NUMPY),
             headers={"Content-Type": "application/json"}),
        post(path, files=[("files", (f"{n}.png", png(image))) for n, image in enumerate(images)]),
    ]  # fmt: skip
    for answer in answers:
        assert answer.status_code == 200, answer.text
        body = answer.json()
        assert {key: body[key] for key in body if key != "values"} == {
            "model": "honest",
            "version": provider.client.get("/v1/models/honest").json()["version"],
            "release": kind,
        }
        np.testing.assert_allclose(np.array(body["values"]), expected, rtol=1e-5, atol=1e-6)
    one = post(path, content=png(images[0]), headers={"Content-Type": "image/png"}).json()["values"]
    np.testing.assert_allclose(np.array(one), expected[:1], rtol=1e-5, atol=1e-6)
    npy = post(path, content=encode_npy(images), headers=NPY | {"Accept": "application/x-npy"})
    assert npy.headers["content-type"] == "application/x-npy"
    values = decode_npy(npy.content)
    assert values.dtype == np.float32
    np.testing.assert_allclose(values, expected, rtol=1e-5, atol=1e-6)


def test_concurrent_requests_are_not_mixed_up(provider: Provider, digests: dict[str, str]) -> None:
    rng = np.random.default_rng(1)
    asked = [rng.integers(0, 256, (int(n), *SHAPE)).astype(np.uint8) for n in rng.integers(1, 40, 60)]

    def ask(images: Pixels) -> NDArray[Any]:
        answer = provider.client.post(
            "/v1/models/honest/logits",
            content=encode_npy(images),
            headers=NPY | {"Accept": "application/x-npy"},
        )
        return decode_npy(answer.raise_for_status().content)

    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(ask, asked))
    for images, values in zip(asked, answers, strict=True):
        expected = provider.expected(digests["honest"], images, "logits")
        np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-5)
    metrics = provider.client.get("/metrics").text
    labels = 'model="honest",release="logits"'
    assert f'leakrange_provider_batch_size_bucket{{le="16.0",{labels}}}' in metrics
    largest = [line for line in metrics.splitlines() if "batch_size_bucket" in line and labels in line]
    up_to_16 = next(line.rsplit(" ", 1)[1] for line in largest if 'le="16.0"' in line)
    assert up_to_16 == next(line.rsplit(" ", 1)[1] for line in largest if 'le="+Inf"' in line)


def test_the_largest_batch_is_taken(provider: Provider) -> None:
    images = np.zeros((256, *SHAPE), np.uint8)
    answer = provider.client.post("/v1/models/honest/softmax", content=encode_npy(images), headers=NPY)
    assert np.shape(answer.json()["values"]) == (256, 3)


def bomb() -> bytes:
    stream = io.BytesIO()
    Image.new("1", (9000, 9000)).save(stream, "PNG")
    return stream.getvalue()


def object_npy() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    return stream.getvalue()


nan = np.full((1, *SHAPE), np.nan, np.float32)
BAD: dict[str, tuple[str, dict[str, str], bytes, int, str]] = {
    "a PNG bomb": ("honest/logits", {"Content-Type": "image/png"}, bomb(), 413, "body-too-large"),
    "an npy of objects": ("honest/logits", NPY, object_npy(), 422, "invalid-input"),
    "NaN pixels": ("honest/logits", NPY, encode_npy(nan), 422, "invalid-input"),
    "infinite pixels": ("honest/logits", NPY, encode_npy(nan * 0 + np.inf), 422, "invalid-input"),
    "a wrong shape": (
        "honest/logits", NPY, encode_npy(np.zeros((1, 8, 8, 1), np.uint8)), 422, "invalid-input"),
    "too many samples": (
        "honest/logits", NPY, encode_npy(np.zeros((257, *SHAPE), np.uint8)), 413, "body-too-large"),
    "an unknown model": (
        "absent/logits", NPY, encode_npy(np.zeros((1, *SHAPE), np.uint8)), 404, "unknown-model"),
    "an unknown release": (
        "honest/nothing", NPY, encode_npy(np.zeros((1, *SHAPE), np.uint8)), 404, "not-found"),
    "no npy": ("honest/logits", NPY, b"PK\x03\x04", 400, "malformed-body"),
    "no JSON": ("honest/logits", {"Content-Type": "application/json"}, b"{", 400, "malformed-body"),
    "no type": ("honest/logits", {}, b"x", 415, "unsupported-media-type"),
    "nothing acceptable": (
        "honest/logits", NPY | {"Accept": "text/html"}, encode_npy(np.zeros((1, *SHAPE), np.uint8)),
        406, "not-acceptable"),
    "an upload of nothing known": ("honest/outputs", {"Content-Type": "image/png"}, b"", 415,
                                   "unsupported-media-type"),
    "an upload of features": (
        "honest/outputs", NPY | {"X-Release": "features"}, encode_npy(np.zeros((1, 3), np.float32)),
        422, "invalid-input"),
    "an upload without its kind": (
        "honest/outputs", NPY, encode_npy(np.zeros((1, 3), np.float32)), 422, "invalid-input"),
    "an upload of four classes": (
        "honest/outputs", NPY | {"X-Release": "logits"}, encode_npy(np.zeros((1, 4), np.float32)),
        422, "invalid-input"),
    "an upload of NaN": (
        "honest/outputs", NPY | {"X-Release": "logits"}, encode_npy(np.full((1, 3), np.nan)),
        422, "invalid-input"),
    "an upload of booleans": (
        "honest/outputs", {"Content-Type": "application/json"},
        b'{"release": "logits", "values": [[true, 0.5, 1]]}', 422, "invalid-input"),
    "an upload of more": (
        "honest/outputs", {"Content-Type": "application/json"},
        b'{"release": "logits", "values": [[1, 2, 3]], "labels": [1]}', 422, "invalid-input"),
    "an upload to nobody": (
        "absent/outputs", NPY | {"X-Release": "logits"}, encode_npy(np.zeros((1, 3), np.float32)),
        404, "unknown-model"),
    "an upload under no key": (
        "honest/outputs", NPY | {"X-Release": "logits", "Idempotency-Key": "two words"},
        encode_npy(np.zeros((1, 3), np.float32)), 422, "invalid-input"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_a_problem_and_not_a_crash(provider: Provider, name: str) -> None:
    path, headers, body, status, slug = BAD[name]
    told = problem(provider.client.post(f"/v1/models/{path}", content=body, headers=headers), status, slug)
    if slug != "not-found":
        assert told["detail"]
    assert provider.client.get("/healthz").status_code == 200


def test_a_body_beyond_the_limit_is_refused(models_dir: Any, digests: dict[str, str], tmp_path: Any) -> None:
    app = create_provider(settings_for(models_dir, tmp_path, max_body=10_000))
    with serving(app) as url, httpx.Client(base_url=url, timeout=120) as client:
        Provider(url, client, models_dir).deploy("m", digests["honest"]).raise_for_status()
        body = encode_npy(np.zeros((100, *SHAPE), np.uint8))
        problem(client.post("/v1/models/m/logits", content=body, headers=NPY), 413, "body-too-large")

        def pieces() -> Any:
            for _ in range(100):
                yield body[:1000]

        for path in ("logits", "outputs"):
            answer = client.post(f"/v1/models/m/{path}", content=pieces(), headers=NPY)
            problem(answer, 413, "body-too-large")


def test_a_full_queue_is_503_and_nothing_is_lost(
    models_dir: Any, digests: dict[str, str], tmp_path: Any
) -> None:
    """Clients that all come at once are either answered rightly or told to come again."""
    app = create_provider(settings_for(models_dir, tmp_path, queue=8, batch=2))
    images = np.random.default_rng(3).integers(0, 256, (8, *SHAPE)).astype(np.uint8)
    together = threading.Barrier(16)
    with serving(app) as url, httpx.Client(base_url=url, timeout=120) as client:
        made = Provider(url, client, models_dir)
        made.deploy("m", digests["honest"]).raise_for_status()
        expected = made.expected(digests["honest"], images, "logits")

        def ask(_: int) -> httpx.Response:
            with httpx.Client(base_url=url, timeout=120) as own:
                together.wait()
                return own.post("/v1/models/m/logits", content=encode_npy(images), headers=NPY)

        refused = []
        for _ in range(20):
            with ThreadPoolExecutor(16) as pool:
                answers = list(pool.map(ask, range(16)))
            for answer in answers:
                if answer.status_code == 200:
                    np.testing.assert_allclose(answer.json()["values"], expected, rtol=1e-4, atol=1e-5)
                else:
                    problem(answer, 503, "unavailable")
                    assert answer.headers["retry-after"] == "1"
                    refused.append(answer)
            if refused:
                break
        assert refused


def test_readiness_needs_the_models_folder(tmp_path: Any) -> None:
    app = create_provider(settings_for(tmp_path / "models", tmp_path / "state"))
    with serving(app) as url:
        unready = httpx.get(f"{url}/readyz")
        assert unready.status_code == 503
        assert "models" in unready.json()["failed"]
        (tmp_path / "models").mkdir()
        assert httpx.get(f"{url}/readyz").status_code == 200
