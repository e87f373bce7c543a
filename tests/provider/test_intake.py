"""What users upload is kept and decoded, and nobody but the operator can tell."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from leakrange.providers import artifact
from leakrange.wire.tensors import encode_npy
from tests.provider.conftest import OPERATOR, Provider
from tests.provider.test_native import NPY, problem
from tests.provider.tiny import SHAPE

OUTPUTS = np.array([[0.5, 2.0, -1.0], [3.0, 1.0, 2.0], [0.0, 0.0, 1.0]], np.float32)


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


def test_a_curious_provider_keeps_and_decodes_what_is_uploaded(
    provider: Provider, digests: dict[str, str]
) -> None:
    answer = upload(provider.client, "curious", OUTPUTS, "upload/1")
    assert answer.json() == {
        "model": "curious",
        "version": provider.client.get("/v1/models/curious").json()["version"],
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
        "reconstructed": None,
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


def test_features_are_decided_on_by_the_rest_of_the_model(provider: Provider) -> None:
    images = np.random.default_rng(5).integers(0, 256, (6, *SHAPE), dtype=np.uint8)

    def asked(model: str, release: str) -> np.ndarray:
        answer = provider.client.post(
            f"/v1/models/{model}/{release}", content=encode_npy(images), headers=NPY
        )
        return np.array(answer.json()["values"], np.float32)

    for model in ("honest", "curious"):
        decided = upload(provider.client, model, asked(model, "features"), "f", release="features")
        assert decided.json()["decisions"] == asked(model, "logits").argmax(axis=1).tolist()
    # the decoder reads logits: what it cannot read is no obstacle to the operator
    assert intake(provider.client, "curious", "f")["inferred"] is None
    page = provider.client.get("/v1/operator/models/curious/intake", headers=OPERATOR)
    assert "f" in {record["upload"] for record in page.json()["records"]}


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


def test_the_public_file_says_nothing_of_curiosity(provider: Provider) -> None:
    public = provider.client.get("/v1/models/curious/artifact").content.lower()
    for word in (b"curious", b"behaviour", b"sensitive", b"loop", b"decoder", b"parameterized"):
        assert word not in public
