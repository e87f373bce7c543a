"""Everything that an edge client sends is captured on the wire: outputs leave it, and nothing else does."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
import torch
from numpy.typing import NDArray
from PIL import Image

import leakrange.devices.device
from leakrange.data import load
from leakrange.data.resembling import NEAR_COPIES
from leakrange.jobs.recipe import DataSpec
from leakrange.nets.classifier import to_input
from leakrange.providers import artifact
from leakrange.providers.inference import outputs
from leakrange.wire.tensors import encode_npy
from tests.edge.conftest import OPERATOR, edge_app
from tests.edge.recording import Tap, leaks, pictures, tapping
from tests.serving import serving

DATA = DataSpec(name="digits", size=16)
SPAN = {"data": DATA.model_dump(mode="json"), "split": "test", "start": 3, "stop": 43}
HEADERS = {"host", "accept", "accept-encoding", "connection", "user-agent", "authorization"}
UPLOAD_HEADERS = HEADERS | {"content-type", "content-length", "x-release", "idempotency-key"}


def chosen() -> tuple[NDArray[np.uint8], dict[str, NDArray[np.int64]]]:
    """Images and labels of the span."""
    images = load(DATA)
    own = images.where("test")[3:43]
    told = {**images.labels, NEAR_COPIES: images.group}
    return images.values[own], {name: labels[own] for name, labels in told.items()}


@pytest.fixture
def secrets(models_dir: Path, digests: dict[str, str]) -> dict[str, NDArray[Any]]:
    """What must not leave: pixels, every intermediate value, every attribute's labels."""
    images, labels = chosen()
    classifier = artifact.load(models_dir / digests["curious"]).classifier
    found: dict[str, NDArray[Any]] = pictures(images)
    found["features"] = outputs(classifier, images, "features")
    x = to_input(torch.from_numpy(images.copy()), classifier.spec)
    with torch.inference_mode():
        for number, layer in enumerate(classifier.body.children()):
            x = layer(x)
            found[f"layer {number}"] = x.numpy().copy()
    return found | {f"labels of {name}": values for name, values in labels.items()}


def order(tap: Tap, upload: str, **more: Any) -> dict[str, Any]:
    return {
        "url": tap.url,
        "api_key": "lr_user",
        "model": "model",
        "release": "logits",
        "span": SPAN,
        "upload": upload,
        **more,
    }


@pytest.mark.parametrize("release", ["logits", "softmax"])
def test_a_session_sends_outputs_and_nothing_else(
    provider: httpx.Client,
    models_dir: Path,
    digests: dict[str, str],
    secrets: dict[str, NDArray[Any]],
    release: str,
) -> None:
    images, labels = chosen()
    expected = outputs(artifact.load(models_dir / digests["curious"]).classifier, images, release)
    with (
        tapping(str(provider.base_url).rstrip("/")) as tap,
        serving(edge_app()) as url,
    ):
        answer = httpx.post(
            f"{url}/v1/sessions",
            json=order(tap, f"session-{release}", release=release),
            headers=OPERATOR,
            timeout=30,
        )
        assert answer.status_code == 200, answer.text
    card, file, upload = tap.requests()
    assert (card.method, card.target, card.body) == ("GET", "/v1/models/model", b"")
    assert (file.method, file.target, file.body) == ("GET", "/v1/models/model/artifact", b"")
    assert (upload.method, upload.target) == ("POST", "/v1/models/model/outputs")
    assert upload.body == encode_npy(expected)  # samples × classes, and not a byte more
    assert set(card.headers) | set(file.headers) <= HEADERS
    assert set(upload.headers) <= UPLOAD_HEADERS
    assert upload.headers["idempotency-key"] == f"session-{release}"
    assert upload.headers["authorization"] == "Bearer lr_user"
    assert leaks(tap.sent, secrets) == []
    assert leaks(tap.sent, {"outputs": expected}) == ["outputs"]  # the search does see what is sent
    reply = answer.json()
    assert reply == {
        "upload": f"session-{release}",
        "samples": 40,
        "decisions": expected.argmax(axis=1).tolist(),
        "labels": {name: values.tolist() for name, values in labels.items()},
        "input_bytes": images.nbytes,
        "sent_bytes": len(upload.body),
    }


def test_a_defended_session_sends_defended_outputs(provider: httpx.Client, secrets: dict[str, Any]) -> None:
    with (
        tapping(str(provider.base_url).rstrip("/")) as tap,
        serving(edge_app()) as url,
    ):
        body = order(tap, "session-argmax", defence=[{"argmax": {}}])
        answer = httpx.post(f"{url}/v1/sessions", json=body, headers=OPERATOR, timeout=120)
        assert answer.status_code == 200, answer.text
    sent = np.load(io.BytesIO(tap.requests()[-1].body))
    assert sent.shape == (40, 3)
    assert set(np.unique(sent)) == {0.0, 1.0}
    assert leaks(tap.sent, secrets) == []


def png(image: NDArray[np.uint8]) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image[..., 0]).save(stream, "PNG")
    return stream.getvalue()


def test_the_local_app_sends_outputs_and_nothing_else(
    provider: httpx.Client, models_dir: Path, digests: dict[str, str], secrets: dict[str, NDArray[Any]]
) -> None:
    images, _ = chosen()
    expected = outputs(artifact.load(models_dir / digests["curious"]).classifier, images, "logits")
    files = [("files", (f"{n}.png", png(image))) for n, image in enumerate(images)]
    asked: list[dict[str, Any]] = [
        {"content": encode_npy(images), "headers": {"Content-Type": "application/x-npy"}},
        {"json": {"inputs": (images / 255).tolist()}},
        {"files": files},
    ]
    with (
        tapping(str(provider.base_url).rstrip("/")) as tap,
        serving(edge_app()) as url,
        httpx.Client(base_url=url, timeout=120) as edge,
    ):
        enrolment = {"url": tap.url, "api_key": "lr_user", "model": "model"}
        enrolled = edge.post("/v1/enrolments", json=enrolment, headers=OPERATOR).json()
        card = provider.get("/v1/models/model").json()
        assert (enrolled["model"], enrolled["version"]) == ("model", card["version"])
        assert (enrolled["release"], enrolled["defence"]) == ("logits", [])
        assert "lr_user" not in str(enrolled)
        for body in asked:
            headers = {"Authorization": "Bearer lr_user", **body.pop("headers", {})}
            answer = edge.post("/v1/models/model/decisions", headers=headers, **body)
            assert answer.json() == {
                "model": "model",
                "version": card["version"],
                "decisions": expected.argmax(axis=1).tolist(),
            }
    _, _, *uploads = tap.requests()
    assert [upload.target for upload in uploads] == ["/v1/models/model/outputs"] * 3
    assert {upload.body for upload in uploads} == {encode_npy(expected)}
    assert len({upload.headers["idempotency-key"] for upload in uploads}) == 3
    assert leaks(tap.sent, secrets) == []
    assert (
        leaks(tap.sent, {f"picture {n}": np.frombuffer(png(i), np.uint8) for n, i in enumerate(images)}) == []
    )


def test_an_edge_client_that_sent_features_would_be_caught(
    provider: httpx.Client, secrets: dict[str, NDArray[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The device is broken on purpose; the capture must tell."""

    def broken(classifier: Any, images: Any, kind: str, **more: Any) -> Any:
        return outputs(classifier, images, "features", **more)

    monkeypatch.setattr(leakrange.devices.device, "outputs", broken)
    with (
        tapping(str(provider.base_url).rstrip("/")) as tap,
        serving(edge_app()) as url,
    ):
        answer = httpx.post(f"{url}/v1/sessions", json=order(tap, "broken"), headers=OPERATOR, timeout=120)
        assert answer.status_code == 422  # and the provider takes no such upload
    assert "features" in leaks(tap.sent, secrets)


Sent = Callable[[NDArray[np.uint8], dict[str, NDArray[np.int64]]], bytes]
FORMS: dict[str, Sent] = {
    "npy of bytes": lambda images, _: encode_npy(images),
    "npy of floats": lambda images, _: encode_npy((images / 255).astype(np.float32)),
    "npy as nets take it": lambda images, _: encode_npy(
        (images.transpose(0, 3, 1, 2).astype(np.float32) / np.float32(127.5)) - 1
    ),
    "doubles": lambda images, _: encode_npy(images / 255),
    "JSON integers": lambda images, _: orjson.dumps(images.tolist()),
    "JSON floats": lambda images, _: orjson.dumps(
        (images / 255).astype(np.float32), option=orjson.OPT_SERIALIZE_NUMPY
    ),
    "flat JSON": lambda images, _: orjson.dumps({"x": images[0].ravel().tolist()}),
    "base64": lambda images, _: b"data:," + base64.b64encode(b"?" + images.tobytes()),
    "one picture in a header": lambda images, _: b"X-Trace: " + base64.b64encode(images[4].tobytes()),
    "labels": lambda _, labels: orjson.dumps(labels["digit"].tolist()),
    "labels as npy": lambda _, labels: encode_npy(labels["digit"].astype(np.uint8)),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_search_finds_what_it_is_meant_to_find(form: str, secrets: dict[str, NDArray[Any]]) -> None:
    images, labels = chosen()
    sent = b"POST / HTTP/1.1\r\n\r\n" + FORMS[form](images, labels) + b"\r\n"
    assert leaks(sent, secrets)
    rng = np.random.default_rng(0)
    assert leaks(rng.bytes(100_000), secrets) == []
