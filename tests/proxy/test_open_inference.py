"""The Open Inference Protocol before the proxy: what is served, and what would undo a defence."""

from __future__ import annotations

from typing import Any

import httpx
import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leakrange.wire.open_inference import HEAD_LENGTH, tensor_answer, tensor_request
from tests.proxy.conftest import Range, pictures
from tests.proxy.servers import CLASSES, SHAPE, clean

PATH = "/v2/models/digits/infer"


def head(images: NDArray[np.uint8], **changes: Any) -> dict[str, Any]:
    taken = {
        "name": "input",
        "shape": list(images.shape),
        "datatype": "UINT8",
        "data": images.ravel().tolist(),
    }
    return {"inputs": [taken]} | changes


def post(live: Range, key: str, content: bytes, path: str = PATH, **headers: str) -> httpx.Response:
    sent = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    return live.client.post(f"{live.url}{path}", content=content, headers=sent)


def infer(live: Range, key: str, images: NDArray[np.uint8], **changes: Any) -> httpx.Response:
    return post(live, key, orjson.dumps(head(images, **changes)))


def get(live: Range, path: str, key: str | None = None) -> httpx.Response:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return live.client.get(f"{live.url}/v2{path}", headers=headers)


def refused(answer: httpx.Response, status: int) -> str:
    """The words of a refusal, as clients of the protocol read them."""
    assert answer.status_code == status, answer.text
    problem = answer.json()
    assert problem["error"] == problem["detail"]
    return str(problem["error"])


def output(answer: httpx.Response) -> NDArray[np.float32]:
    assert answer.status_code == 200, answer.text
    [given] = answer.json()["outputs"]
    assert (given["name"], given["datatype"]) == ("logits", "FP32")
    return np.array(given["data"], np.float32).reshape(given["shape"])


def test_a_client_finds_out_what_is_served(live: Range) -> None:
    key = live.key(10)
    assert get(live, "/health/live").json() == {"live": True}
    assert get(live, "/health/ready").status_code == get(live, "").status_code == 200
    assert get(live, "/models/digits/ready", key).status_code == 200
    about = get(live, "/models/digits", key).json()
    assert about["inputs"] == [{"name": "input", "datatype": "UINT8", "shape": [-1, *SHAPE]}]
    assert about["outputs"] == [{"name": "logits", "datatype": "FP32", "shape": [-1, CLASSES]}]
    assert about == get(live, f"/models/digits/versions/{about['versions'][0]}", key).json()
    assert "alone" in refused(get(live, "/models/digits/versions/7", key), 404)
    refused(get(live, "/models/digits"), 401)
    refused(get(live, "/models/other/ready", key), 404)


@pytest.mark.parametrize("binary", [False, True])
def test_answers_are_defended_and_paid_as_native_ones(live: Range, binary: bool) -> None:
    live.policy({"round": {"decimals": 1}})
    key, images = live.key(5), pictures(3)
    if binary:
        body, headers = tensor_request("input", "logits", images)
        answer = post(
            live, key, body, **{name: value for name, value in headers.items() if name != "Content-Type"}
        )
        released = tensor_answer(answer.content, answer.headers[HEAD_LENGTH], "logits")
    else:
        answer = infer(live, key, images, id="mine")
        assert answer.json()["id"] == "mine"
        released = output(answer)
    assert released == pytest.approx(np.round(clean("logits", images), 1))
    assert np.array_equal(released, live.query(live.key(9, id="other"), images))
    assert live.account()["spent"] == 3
    assert answer.headers["RateLimit-Remaining"] == "2"
    assert "3 samples asked, 2 remain" in refused(infer(live, key, images), 429)
    assert "x-secret-debug" not in answer.headers


def test_a_head_that_came_before_says_nothing_of_the_samples(live: Range) -> None:
    key = live.key(20)
    for seed in (1, 2):
        body, headers = tensor_request("input", "logits", pictures(3, seed))
        length = {"Inference_Header_Content_Length": headers[HEAD_LENGTH]}
        answer = post(live, key, body, **length)
        released = tensor_answer(answer.content, answer.headers[HEAD_LENGTH], "logits")
        assert np.array_equal(released, clean("logits", pictures(3, seed)))
    assert "575 bytes follow the head" in refused(post(live, key, body[:-1], **length), 422)
    assert live.account()["spent"] == 6


def test_a_repeat_is_paid_once(live: Range) -> None:
    key, images = live.key(10), pictures(2)
    body = orjson.dumps(head(images))
    first = post(live, key, body, Idempotency_Key="k")
    again = post(live, key, body, Idempotency_Key="k")
    assert (first.content, again.headers["Idempotency-Replayed"]) == (again.content, "true")
    assert live.account()["spent"] == 2


PERMISSIONS: dict[str, dict[str, Any]] = {
    "classification": {"outputs": [{"name": "logits", "parameters": {"classification": 3}}]},
    "another output": {"outputs": [{"name": "softmax"}]},
    "two outputs": {"outputs": [{"name": "logits"}, {"name": "features"}]},
    "shared memory out": {"outputs": [{"name": "logits", "parameters": {"shared_memory_region": "r"}}]},
    "raw scores": {"parameters": {"raw_scores": True}},
    "function to apply": {"parameters": {"function_to_apply": "none"}},
    "normalize": {"parameters": {"normalize": False}},
    "top k": {"parameters": {"top_k": 5}},
    "a sequence": {"parameters": {"sequence_id": 1}},
    "another model version": {"model_version": "2"},
}


@pytest.mark.parametrize("permission", PERMISSIONS)
def test_what_would_undo_a_defence_is_refused(live: Range, permission: str) -> None:
    live.policy("argmax")
    answer = infer(live, live.key(10), pictures(1), **PERMISSIONS[permission])
    assert refused(answer, 422)
    assert live.account()["spent"] == 0
    assert live.provider.data_requests() == []


@pytest.mark.parametrize(
    "path",
    [
        *(
            "/v2/models/digits/generate",
            "/v2/models/digits/generate_stream",
            "/v2/models/digits/infer_stream",
        ),
        *(
            "/v2/models/digits/config",
            "/v2/models/digits/stats",
            "/v2/models/digits/trace/setting",
            "/v2/logging",
        ),
        *("/v2/repository/index", "/v2/repository/models/digits/load", "/v2/systemsharedmemory/status"),
        *("/v2/cudasharedmemory/status", "/v2/models/stats", "/v2/docs", "/v2/models/digits/docs"),
        *("/v2/models/digits/versions/1/config", "/v2/health", "/v2/models", "/v2/models/digits/infer/x"),
        *("/v1/models/digits:predict", "/v1/models/digits:explain", "/v1/models/digits/predict"),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_other_paths_of_serving_systems_are_not_there(live: Range, path: str, method: str) -> None:
    headers = {"Authorization": f"Bearer {live.key(10)}"}
    answer = live.client.request(method, f"{live.url}{path}", content=b"{}", headers=headers)
    assert answer.status_code in (404, 405)
    assert live.provider.data_requests() == []


def test_raw_bodies_and_shared_memory_are_refused(live: Range) -> None:
    key, images = live.key(10), pictures(1)
    assert (
        "raw bodies" in post(live, key, images.tobytes(), Inference_Header_Content_Length="0").json()["hint"]
    )
    taken = {"name": "input", "shape": [1, *SHAPE], "datatype": "UINT8"}
    for parameters in (
        {"shared_memory_region": "r", "shared_memory_byte_size": 192},
        {"binary_data_size": 9},
    ):
        body = orjson.dumps({"inputs": [taken | {"parameters": parameters}]})
        assert refused(post(live, key, body), 422)
    assert live.account()["spent"] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"datatype": "FP32"}, "this model takes UINT8"),
        ({"shape": [2, *SHAPE]}, "its shape has 384 numbers"),
        ({"shape": [1, 8, 8]}, "this model takes [-1, 8, 8, 3]"),
        ({"shape": [-1, *SHAPE]}, "this model takes"),
        ({"name": "image"}, "there is no input 'image'"),
        ({"data": [256] * 192}, "whole, of 0 to 255"),
        ({"data": ["1"] * 192}, "values; its shape has 192 numbers"),
        ({"data": [[1, 2], [3]]}, "different lengths"),
    ],
)
def test_mistakes_are_said_in_words(live: Range, change: dict[str, Any], words: str) -> None:
    body = head(pictures(1))
    body["inputs"][0] |= change
    assert words in refused(post(live, live.key(10), orjson.dumps(body)), 422)


JSONS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 300)
    | st.floats()
    | st.sampled_from(["input", "UINT8", "logits"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["inputs", "outputs", "name", "shape", "datatype", "data", "parameters", "id"]),
            inner,
        )
    ),
    max_leaves=16,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(JSONS, st.sampled_from([None, "1", "30", "-4", "x"]))
def test_any_request_is_answered_or_refused_in_words(live: Range, body: Any, length: str | None) -> None:
    key = "k" * 40
    live.admin("POST", "/keys", {"name": "any", "budget": 1000, "id": "any", "key": key})
    headers = {} if length is None else {"Inference_Header_Content_Length": length}
    answer = post(live, key, orjson.dumps(body), **headers)
    assert answer.status_code in (200, 400, 413, 422)
    assert answer.status_code == 200 or answer.json()["error"]
