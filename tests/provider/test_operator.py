from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from leakrange.providers import artifact
from leakrange.wire.tensors import decode_npy, encode_npy
from services.provider.main import create_provider
from services.provider.store import Store, StoredUpload
from tests.provider.conftest import KEY, OPERATOR, Provider, settings_for
from tests.provider.test_native import NPY, problem
from tests.provider.tiny import SHAPE, save_model
from tests.serving import serving

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
    assert (first.status_code, first.json()["version"]) == (200, digests["honest"][:12])
    assert provider.deploy("swapped", digests["honest"]).json() == first.json()
    second = provider.deploy("swapped", digests["other"], release="softmax").json()
    assert (second["version"], second["default_release"]) == (digests["other"][:12], "softmax")
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
        record["sha256"] = hashlib.sha256(public.read_bytes()).hexdigest()
        (folder / artifact.RECORD).write_bytes(orjson.dumps(record))


@pytest.mark.parametrize(
    "kind", ["pickle", "pickle as decoder", "truncated", "another model", "huge header", "missing"]
)
def test_hostile_artifacts_are_refused_and_the_old_version_stays(
    provider: Provider, digests: dict[str, str], tmp_path: Path, kind: str
) -> None:
    provider.deploy("target", digests["honest"]).raise_for_status()
    digest = hashlib.sha256(kind.encode()).hexdigest()
    shutil.copytree(provider.models_dir / digests["other"], provider.models_dir / digest)
    hostile(provider.models_dir / digest, kind, tmp_path / "sprung")
    problem(provider.deploy("target", digest), 422, "invalid-artifact")
    assert not (tmp_path / "sprung").exists()
    assert provider.client.get("/v1/models/target").json()["version"] == digests["honest"][:12]


@pytest.mark.parametrize(
    ("body", "status", "slug"),
    [
        ({"artifact": "0" * 64}, 404, "not-found"),
        ({"artifact": "../../etc/passwd"}, 422, "invalid-input"),
        ({"artifact": "0" * 64, "more": 1}, 422, "invalid-input"),
        ({"artifact": "HONEST", "release": "score"}, 422, "invalid-input"),
        ({"artifact": "HONEST", "release": "features"}, 422, "invalid-input"),
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


def upload(
    client: httpx.Client, model: str, values: NDArray[Any], key: str | None = None, release: str = "logits"
) -> httpx.Response:
    headers = NPY | {"X-Release": release} | ({} if key is None else {"Idempotency-Key": key})
    return client.post(f"/v1/models/{model}/outputs", content=encode_npy(values), headers=headers)


def intake(client: httpx.Client, model: str, key: str) -> dict[str, Any]:
    answer = client.get(f"/v1/operator/models/{model}/intake/{key}", headers=OPERATOR)
    assert answer.status_code == 200, answer.text
    record: dict[str, Any] = answer.json()
    return record


OUTPUTS = np.array([[0.5, 2.0, -1.0], [3.0, 1.0, 2.0], [0.0, 0.0, 1.0]], np.float32)


def test_a_curious_provider_keeps_and_decodes_what_is_uploaded(
    provider: Provider, digests: dict[str, str]
) -> None:
    answer = upload(provider.client, "curious", OUTPUTS, "upload/1")
    assert answer.json() == {
        "model": "curious",
        "version": digests["net"][:12],
        "decisions": [1, 0, 2],
    }
    record = intake(provider.client, "curious", "upload/1")
    decoder = artifact.load(provider.models_dir / digests["net"]).decoder
    assert decoder is not None
    inferred, scores = decoder.infer(OUTPUTS, "logits")
    assert record == {
        "upload": "upload/1",
        "model": "curious",
        "release": "logits",
        "values": OUTPUTS.tolist(),
        "decisions": [1, 0, 2],
        "inferred": inferred.tolist(),
        "scores": scores.tolist(),
    }


def test_every_form_of_outputs_is_decided_on(provider: Provider) -> None:
    one_hot = np.eye(3, dtype=np.float32)[[2, 0]]
    assert upload(provider.client, "honest", one_hot, release="softmax").json()["decisions"] == [2, 0]
    top_1 = np.array([[0.0, 0.7, 0.0]], np.float64)
    assert upload(provider.client, "honest", top_1, release="softmax").json()["decisions"] == [1]
    body = {"release": "logits", "values": [[1, 2, 3], [-1, -2, -3]]}
    assert provider.client.post("/v1/models/honest/outputs", json=body).json()["decisions"] == [2, 0]


def test_a_repeat_gets_the_first_answer_and_is_stored_once(provider: Provider) -> None:
    before = provider.client.get("/metrics").text
    answers = [upload(provider.client, "curious", OUTPUTS, "again") for _ in range(3)]
    answers.append(upload(provider.client, "curious", -OUTPUTS, "again"))  # noise may have been drawn afresh
    assert len({(answer.status_code, answer.content) for answer in answers}) == 1
    assert intake(provider.client, "curious", "again")["values"] == OUTPUTS.tolist()
    problem(upload(provider.client, "curious", OUTPUTS[:2], "again"), 409, "conflict")
    assert upload(provider.client, "honest", OUTPUTS[:2], "again").status_code == 200  # keys are per model
    counted = 'leakrange_provider_uploads_total{model="curious"}'
    after = provider.client.get("/metrics").text
    value = [
        float(line.split()[-1]) for text in (before, after) for line in text.splitlines() if counted in line
    ]
    assert value[-1] - (value[0] if len(value) == 2 else 0) == 1


def test_the_intake_is_listed_in_order_and_in_pages(provider: Provider, digests: dict[str, str]) -> None:
    provider.deploy("paged", digests["net"]).raise_for_status()
    for number in range(7):
        upload(provider.client, "paged", OUTPUTS[: 1 + number % 3], f"u{number}").raise_for_status()
    upload(provider.client, "paged", OUTPUTS)  # without a key it gets one made up
    seen: list[dict[str, Any]] = []
    while True:
        parameters = {"limit": 3} | ({"after": seen[-1]["upload"]} if seen else {})
        page = provider.client.get(
            "/v1/operator/models/paged/intake", params=parameters, headers=OPERATOR
        ).json()["records"]
        if not page:
            break
        seen += page
    assert [record["upload"] for record in seen[:7]] == [f"u{number}" for number in range(7)]
    assert len(seen) == 8
    assert all(record["inferred"] is not None for record in seen)
    missing = provider.client.get("/v1/operator/models/paged/intake/absent", headers=OPERATOR)
    problem(missing, 404, "not-found")


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Every leaf of a JSON value by its path."""
    if isinstance(value, dict):
        return {key: leaf for name in value for key, leaf in flat(value[name], f"{path}.{name}").items()}
    if isinstance(value, list):
        return {key: leaf for i, item in enumerate(value) for key, leaf in flat(item, f"{path}[{i}]").items()}
    return {path: value}


def seen_by_a_user(provider: Provider, model: str, images: NDArray[np.uint8]) -> list[httpx.Response]:
    """Everything that a user without the operator's key can ask of a model."""
    ask = provider.client
    answers = [ask.get(f"/v1/models/{model}"), ask.get(f"/v1/models/{model}/artifact")]
    for kind in ("logits", "softmax", "features"):
        for accept in ("application/json", "application/x-npy"):
            headers = NPY | {"Accept": accept}
            answers.append(
                ask.post(f"/v1/models/{model}/{kind}", content=encode_npy(images), headers=headers)
            )
    for key in (None, f"{model}-1", f"{model}-1"):
        answers.append(upload(ask, model, OUTPUTS, key))
    answers += [
        upload(ask, model, OUTPUTS[:1], f"{model}-1"),
        upload(ask, model, OUTPUTS[:, :2]),
        ask.post(f"/v1/models/{model}/logits", content=b"", headers=NPY),
        ask.options(f"/v1/models/{model}/outputs"),
        ask.get(f"/v1/models/{model}/intake"),
    ]
    return answers


@pytest.mark.parametrize("decoder", ["net", "threshold"])
def test_nobody_but_the_operator_can_tell_a_curious_provider_from_an_honest_one(
    models_dir: Path, digests: dict[str, str], tmp_path: Path, images: NDArray[np.uint8], decoder: str
) -> None:
    """The same weights served by both: status, headers and every field agree but the version."""
    told = []
    versions = [digests["honest"][:12], digests[decoder][:12]]
    for number, digest in enumerate((digests["honest"], digests[decoder])):
        app = create_provider(settings_for(models_dir, tmp_path / str(number)))
        with serving(app) as url, httpx.Client(base_url=url, timeout=120) as client:
            provider = Provider(url, client, models_dir)
            provider.deploy("model", digest).raise_for_status()
            told.append(seen_by_a_user(provider, "model", images))
            documents = client.get("/openapi.json").json()
            assert (intake(client, "model", "model-1")["inferred"] is None) == (number == 0)
    assert documents["paths"]
    for honest, curious in zip(*told, strict=True):
        assert honest.status_code == curious.status_code
        assert honest.reason_phrase == curious.reason_phrase
        headers = [
            [(name, value) for name, value in answer.headers.items() if name != "date"]
            for answer in (honest, curious)
        ]
        assert headers[0] == headers[1]
        if "json" not in honest.headers.get("content-type", ""):
            assert honest.content == curious.content
            continue
        leaves = [flat(answer.json()) for answer in (honest, curious)]
        assert list(leaves[0]) == list(leaves[1])
        different = {
            path: (leaves[0][path], leaves[1][path])
            for path in leaves[0]
            if leaves[0][path] != leaves[1][path]
        }
        assert different in ({}, {".version": tuple(versions)})


def test_the_public_file_says_nothing_of_curiosity(provider: Provider) -> None:
    public = provider.client.get("/v1/models/curious/artifact").content.lower()
    for word in (b"curious", b"behaviour", b"sensitive", b"loop", b"decoder", b"parameterized"):
        assert word not in public


def test_a_restarted_provider_goes_on_where_it_was(
    models_dir: Path, digests: dict[str, str], tmp_path: Path
) -> None:
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url) as client,
    ):
        made = Provider(url, client, models_dir)
        made.deploy("kept", digests["net"], release="softmax").raise_for_status()
        made.deploy("dropped", digests["honest"]).raise_for_status()
        first = upload(client, "kept", OUTPUTS, "before")
        client.delete("/v1/operator/models/dropped", headers=OPERATOR).raise_for_status()
        card = client.get("/v1/models/kept").json()
        record = intake(client, "kept", "before")
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url) as client,
    ):
        assert client.get("/v1/models").json() == {"models": [card]}
        assert intake(client, "kept", "before") == record
        assert upload(client, "kept", OUTPUTS, "before").content == first.content


def test_what_was_taken_in_is_decoded_by_the_version_that_took_it_in(
    provider: Provider, digests: dict[str, str], models_dir: Path
) -> None:
    """Even if it was not decoded at once, and the model was replaced or withdrawn since."""
    curious = save_model(models_dir, seed=7, decoder="net")
    decoder = artifact.load(models_dir / curious).decoder
    assert decoder is not None
    provider.deploy("moved", curious).raise_for_status()
    upload(provider.client, "moved", OUTPUTS, "early").raise_for_status()
    provider.deploy("moved", digests["honest"]).raise_for_status()
    upload(provider.client, "moved", OUTPUTS, "late").raise_for_status()
    provider.client.delete("/v1/operator/models/moved", headers=OPERATOR).raise_for_status()
    assert (
        intake(provider.client, "moved", "early")["inferred"] == decoder.infer(OUTPUTS, "logits")[0].tolist()
    )
    assert intake(provider.client, "moved", "late")["inferred"] is None


def test_an_artifact_that_vanished_does_not_stop_a_restart(
    models_dir: Path, digests: dict[str, str], tmp_path: Path
) -> None:
    lost = save_model(models_dir, seed=9)
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url) as client,
    ):
        made = Provider(url, client, models_dir)
        made.deploy("kept", digests["honest"]).raise_for_status()
        made.deploy("lost", lost).raise_for_status()
    shutil.rmtree(models_dir / lost)
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url) as client,
    ):
        assert [card["name"] for card in client.get("/v1/models").json()["models"]] == ["kept"]


async def test_what_was_not_decoded_when_the_provider_died_is_decoded_when_it_is_read(
    models_dir: Path, digests: dict[str, str], tmp_path: Path
) -> None:
    store = Store(tmp_path)
    await store.open()
    await store.take_in(
        StoredUpload("u", "m", digests["threshold"], "logits", OUTPUTS, np.array([1, 0, 2], np.int64))
    )
    await store.close()
    decoder = artifact.load(models_dir / digests["threshold"]).decoder
    assert decoder is not None
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url) as client,
    ):
        assert intake(client, "m", "u")["inferred"] == decoder.infer(OUTPUTS, "logits")[0].tolist()


def test_a_killed_provider_loses_nothing(models_dir: Path, digests: dict[str, str], tmp_path: Path) -> None:
    """The real process, killed by the kernel right after its last answer."""
    values = {f"u{number}": OUTPUTS + number for number in range(20)}
    with process(models_dir, tmp_path) as (url, victim), httpx.Client(base_url=url, timeout=120) as client:
        Provider(url, client, models_dir).deploy("m", digests["net"]).raise_for_status()
        for key, given in values.items():
            upload(client, "m", given, key).raise_for_status()
        victim.send_signal(signal.SIGKILL)
        victim.wait()
    with (
        serving(create_provider(settings_for(models_dir, tmp_path))) as url,
        httpx.Client(base_url=url) as client,
    ):
        for key, given in values.items():
            record = intake(client, "m", key)
            assert record["values"] == given.tolist()
            assert record["inferred"] is not None


@contextmanager
def process(models_dir: Path, state_dir: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """``python -m services.provider``, ready."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    settings = {
        "LEAKRANGE_OPERATOR_KEY": KEY,
        "LEAKRANGE_PORT": str(port),
        "LEAKRANGE_MODELS_DIR": str(models_dir),
        "LEAKRANGE_STATE_DIR": str(state_dir),
    }
    child = subprocess.Popen(
        [sys.executable, "-m", "services.provider"], env=os.environ | settings, stderr=subprocess.DEVNULL
    )
    url = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                httpx.get(f"{url}/readyz").raise_for_status()
                break
            except httpx.TransportError:
                assert child.poll() is None, "the provider did not start"
                assert time.monotonic() < deadline
                time.sleep(0.05)  # not listening yet
        yield url, child
    finally:
        child.kill()
        child.wait()
