"""What only an operator may do: deploy, replace and withdraw models."""

from __future__ import annotations

import hashlib
import pickle
import shutil
import threading
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pytest

from leakrange.providers import artifact
from leakrange.wire.tensors import decode_npy, encode_npy
from tests.provider.conftest import OPERATOR, Provider
from tests.provider.test_native import NPY, problem
from tests.provider.tiny import SHAPE, save_model

ENDPOINTS = [
    ("PUT", "/v1/operator/models/m"),
    ("DELETE", "/v1/operator/models/m"),
    ("GET", "/v1/operator/models/m/intake"),
    ("GET", "/v1/operator/models/m/intake/u"),
]


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_only_the_operator_gets_in(
    provider: Provider, method: str, path: str, digests: dict[str, str]
) -> None:
    body = {"artifact": digests["honest"]} if method == "PUT" else None
    problem(provider.client.request(method, path, json=body), 401, "unauthenticated")
    wrong = {"Authorization": "Bearer lr_some-users-key"}
    problem(provider.client.request(method, path, json=body, headers=wrong), 403, "forbidden")
    problem(provider.client.get("/v1/models/m"), 404, "unknown-model")


def test_deploy_replace_and_withdraw(provider: Provider, digests: dict[str, str]) -> None:
    first = provider.deploy("swapped", digests["honest"])
    assert first.status_code == 200, first.text
    assert provider.deploy("swapped", digests["honest"]).json() == first.json()
    second = provider.deploy("swapped", digests["other"], release="softmax").json()
    assert second["version"] != first.json()["version"]
    assert second["default_release"] == "softmax"
    assert provider.client.get("/v1/models/swapped").json() == second
    assert "leakrange_provider_models 3.0" in provider.client.get("/metrics").text
    for _ in range(2):
        gone = provider.client.delete("/v1/operator/models/swapped", headers=OPERATOR)
        assert (gone.status_code, gone.content) == (204, b"")
    problem(provider.client.get("/v1/models/swapped"), 404, "unknown-model")


def test_no_request_is_dropped_while_a_model_is_replaced(provider: Provider, digests: dict[str, str]) -> None:
    """Requests that keep coming are all answered, each wholly by one of the two versions."""
    images = np.random.default_rng(5).integers(0, 256, (20, *SHAPE)).astype(np.uint8)
    expected = [provider.expected(digests[name], images, "logits") for name in ("honest", "other")]
    provider.deploy("busy", digests["honest"]).raise_for_status()
    stop = threading.Event()
    failures: list[str] = []
    answered = [0, 0]

    def ask() -> None:
        with httpx.Client(base_url=provider.url, timeout=120) as client:
            while not stop.is_set():
                headers = NPY | {"Accept": "application/x-npy"}
                answer = client.post("/v1/models/busy/logits", content=encode_npy(images), headers=headers)
                if answer.status_code != 200:
                    failures.append(answer.text)
                    return
                values = decode_npy(answer.content)
                fits = [np.allclose(values, wanted, rtol=1e-4, atol=1e-5) for wanted in expected]
                if fits.count(True) != 1:
                    failures.append("an answer of neither version")
                    return
                answered[fits.index(True)] += 1

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(10):
        provider.deploy("busy", digests["other" if number % 2 == 0 else "honest"]).raise_for_status()
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sum(answered) > 0


class Exploit:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return (Path.touch, (self.path,))


def hostile(folder: Path, kind: str, sprung: Path) -> None:
    """Damage an artifact folder."""
    public = folder / artifact.CLASSIFIER
    if kind == "pickle":
        public.write_bytes(pickle.dumps(Exploit(sprung)))
    elif kind == "pickle as decoder":
        (folder / artifact.DECODER).write_bytes(pickle.dumps(Exploit(sprung)))
    elif kind == "truncated":
        public.write_bytes(public.read_bytes()[:-10])
    elif kind == "another model":
        public.write_bytes(public.read_bytes()[:-1] + b"\x01")
    elif kind == "huge header":
        public.write_bytes((2**60).to_bytes(8, "little") + b"{}")
    elif kind == "missing":
        public.unlink()
    if kind not in ("another model", "missing"):  # let the record agree, so that the file itself is judged
        record = orjson.loads((folder / artifact.RECORD).read_bytes())
        record["files"] = {
            file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.safetensors")
        }
        (folder / artifact.RECORD).write_bytes(orjson.dumps(record))


@pytest.mark.parametrize(
    "kind", ["pickle", "pickle as decoder", "truncated", "another model", "huge header", "missing"]
)
def test_hostile_artifacts_are_refused_and_the_old_version_stays(
    provider: Provider, digests: dict[str, str], tmp_path: Path, kind: str
) -> None:
    served = provider.deploy("target", digests["honest"]).json()
    digest = hashlib.sha256(kind.encode()).hexdigest()
    shutil.copytree(provider.models_dir / digests["other"], provider.models_dir / digest)
    hostile(provider.models_dir / digest, kind, tmp_path / "sprung")
    problem(provider.deploy("target", digest), 422, "invalid-artifact")
    assert not (tmp_path / "sprung").exists()
    assert provider.client.get("/v1/models/target").json() == served


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        ({"artifact": "0" * 64}, 404, "not-found"),
        ({"artifact": "../../etc/passwd"}, 422, "invalid-input"),
        ({"artifact": "0" * 64, "more": 1}, 422, "invalid-input"),
        ({"artifact": "HONEST", "release": "score"}, 422, "invalid-input"),
        ({}, 422, "invalid-input"),
    ],
)
def test_what_cannot_be_deployed(
    provider: Provider, digests: dict[str, str], body: dict[str, Any], status: int, slug: str
) -> None:
    body = {key: digests["honest"] if value == "HONEST" else value for key, value in body.items()}
    problem(provider.client.put("/v1/operator/models/m", json=body, headers=OPERATOR), status, slug)
    problem(provider.client.get("/v1/models/m"), 404, "unknown-model")


@pytest.mark.parametrize("name", ["-x", ".hidden", "a b", "é", "x" * 129])
def test_names_that_no_model_may_have(provider: Provider, digests: dict[str, str], name: str) -> None:
    assert provider.deploy(name, digests["honest"]).status_code == 422


def test_the_scores_of_several_attributes_are_served_side_by_side(provider: Provider) -> None:
    digest = save_model(provider.models_dir, heads=(2, 3))
    assert provider.deploy("several", digest).json()["heads"] == [2, 3]
    images = np.random.default_rng(0).integers(0, 256, (4, *SHAPE), dtype=np.uint8)
    answer = provider.client.post("/v1/models/several/softmax", content=encode_npy(images), headers=NPY)
    provider.client.delete("/v1/operator/models/several", headers=OPERATOR).raise_for_status()
    soft = np.array(answer.json()["values"])
    np.testing.assert_allclose(soft[:, :2].sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(soft[:, 2:].sum(axis=1), 1.0, rtol=1e-5)
