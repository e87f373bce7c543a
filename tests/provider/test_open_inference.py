"""A provider answers the Open Inference Protocol as its native API, and a target's file reaches it."""

from __future__ import annotations

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from leakrange.targets.dialogue import TargetReply, dialogue
from leakrange.targets.target import read_target
from leakrange.wire.open_inference import HEAD_LENGTH, tensor_answer, tensor_request
from leakrange.wire.tensors import decode_npy, encode_npy
from tests.provider.conftest import Provider
from tests.provider.tiny import CLASSES, SHAPE

Pixels = NDArray[np.uint8]
TARGET = """\
name: ours
owner: team@example.com
preset: {preset}
url: {url}
model: honest
options: {{output: logits}}
card: {{input: {{encoding: picture, shape: {shape}}}, classes: {classes}, release: logits}}
"""


def native(provider: Provider, images: Pixels) -> NDArray[np.float32]:
    headers = {"Content-Type": "application/x-npy", "Accept": "application/x-npy"}
    answer = provider.client.post("/v1/models/honest/logits", content=encode_npy(images), headers=headers)
    return decode_npy(answer.content)


@pytest.mark.parametrize("preset", ["open-inference", "open-inference-binary"])
def test_a_target_of_the_protocol_releases_what_the_native_api_does(
    provider: Provider, images: Pixels, preset: str
) -> None:
    text = TARGET.format(preset=preset, url=provider.url, shape=list(SHAPE), classes=list(CLASSES))
    target = read_target(text)
    talk = dialogue(target, images)
    call = next(talk)
    answer = provider.client.request(call.method, call.url, content=call.body, headers=dict(call.headers))
    assert answer.status_code == 200, answer.text
    with pytest.raises(StopIteration) as end:
        talk.send(TargetReply(dict(answer.headers), answer.content))
    assert np.array_equal(end.value.value, native(provider, images))


def test_binary_is_asked_for_by_the_request(provider: Provider, images: Pixels) -> None:
    body, headers = tensor_request("input", "logits", images)
    answer = provider.client.post("/v2/models/honest/infer", content=body, headers=headers)
    released = tensor_answer(answer.content, answer.headers[HEAD_LENGTH], "logits")
    assert np.array_equal(released, native(provider, images))
    version = provider.client.get("/v2/models/honest").json()["versions"]
    assert orjson.loads(answer.content[: int(answer.headers[HEAD_LENGTH])])["model_version"] == version[0]


def test_what_is_not_served_is_said(provider: Provider, images: Pixels) -> None:
    assert provider.client.get("/v2/health/ready").json() == {"ready": True}
    for path in (
        "/v2/models/other",
        "/v2/models/honest/config",
        "/v2/repository/index",
        "/v2/models/honest/versions/7",
    ):
        answer = provider.client.get(path)
        assert (answer.status_code, answer.json()["error"]) == (404, answer.json()["detail"])
    body, headers = tensor_request("input", "softmax", images)
    answer = provider.client.post("/v2/models/honest/infer", content=body, headers=headers)
    assert answer.status_code == 422
    assert answer.json()["error"] == "there is no output 'softmax': it is 'logits'"
    body, headers = tensor_request("input", "logits", np.repeat(images, 60, axis=0))
    answer = provider.client.post("/v2/models/honest/infer", content=body, headers=headers)
    assert "300 samples in one request; this model takes 256" in answer.json()["error"]
