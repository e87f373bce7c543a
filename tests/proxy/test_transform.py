"""What goes out: policies on answers and uploads, in either media type."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import orjson
import pytest
from numpy.testing import assert_array_equal
from PIL import Image

from leakrange.defences.output import Chain, ReleaseContext
from leakrange.wire.names import upload_name
from leakrange.wire.rows import CSV
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import JSON, NPY, decode_npy, encode_npy
from tests.proxy.conftest import Range, pictures, problem, values
from tests.proxy.servers import CLASSES, card, clean


def test_without_a_policy_the_answer_passes_as_it_is(live: Range) -> None:
    images = pictures(3)
    assert_array_equal(live.query(live.key(), images), clean("logits", images))


@pytest.mark.parametrize("endpoint", ["logits", "softmax", "features", "verification", "recognition"])
@pytest.mark.parametrize("accept", [JSON, NPY])
def test_every_release_passes_the_chain_in_both_media_types(live: Range, endpoint: str, accept: str) -> None:
    live.policy({"round": {"decimals": 1}}, {"clip": {"min": -0.2}})
    images = pictures(4)
    if endpoint == "verification":
        images = images.reshape(2, 2, *images.shape[1:])
    answer = live.post(live.key(), endpoint, encode_npy(images), accept=accept)
    assert answer.headers["content-type"] == accept
    assert int(answer.headers["content-length"]) == len(answer.content)
    expected = np.maximum(np.round(clean(endpoint, images).astype(float), 1), -0.2).astype(np.float32)
    assert_array_equal(values(answer), expected)


def test_json_says_short_numbers_and_nothing_but_the_release(live: Range) -> None:
    live.policy({"round": {"decimals": 1}})
    answer = live.post(live.key(), "softmax", encode_npy(pictures(1)), accept=JSON)
    assert set(answer.json()) == {
        "model",
        "version",
        "release",
        "values",
    }  # the provider sends "debug" as well
    assert all(len(repr(number)) <= 3 for number in answer.json()["values"][0])
    assert "x-secret-debug" not in answer.headers


@pytest.mark.parametrize("media", [JSON, NPY])
def test_an_upload_is_transformed_before_it_leaves(live: Range, media: str) -> None:
    live.policy("argmax")
    logits = np.array([[0.1, 2.5, -1.0], [3.0, 0.0, 0.5]], dtype=np.float32)
    body: Any = encode_npy(logits) if media == NPY else {"release": "logits", "values": logits.tolist()}
    more = {"X_Release": "logits"} if media == NPY else {}
    answer = live.post(live.key(10), "outputs", body, accept=JSON, Idempotency_Key="round-1", **more)
    assert answer.json()["decisions"] == [1, 0]
    assert answer.headers["RateLimit-Remaining"] == "8"
    path, headers, sent = live.provider.data_requests()[0]
    assert path == "/v1/models/digits/outputs"
    one_hot = np.array([[0, 1, 0], [1, 0, 0]], dtype=np.float32)
    if media == NPY:
        assert_array_equal(decode_npy(sent), one_hot)
    else:
        assert sent == b'{"release":"logits","values":[[0.0,1.0,0.0],[1.0,0.0,0.0]]}'
    assert headers["x-release"] == "logits"
    assert headers["idempotency-key"] == upload_name("key", "round-1")
    assert "authorization" not in headers


def test_class_scores_of_several_attributes_are_defended_each_by_itself(live: Range) -> None:
    heads = [2, CLASSES - 2]
    decided = [[0, 1], [1, 2]]
    told = orjson.dumps({"decisions": decided})

    async def several(path: str) -> tuple[int, str, bytes] | None:
        if path == "/v1/models/two":
            return 200, JSON, orjson.dumps(card("two") | {"heads": heads})
        return (200, JSON, told) if path.endswith("/outputs") else None

    live.provider.before = several
    live.admin("PUT", "/routes/two", {"upstream": live.provider_url})
    live.policy("argmax")
    images, key = pictures(4), live.key()
    logits = clean("logits", images)
    expected = np.concatenate(
        [np.eye(part.shape[1])[part.argmax(axis=1)] for part in np.split(logits, [2], axis=1)], axis=1
    )
    assert_array_equal(live.query(key, images, model="two"), expected)
    answer = live.post(key, "outputs", encode_npy(logits[:2]), JSON, "two", X_Release="logits")
    assert answer.json()["decisions"] == decided
    assert_array_equal(decode_npy(live.provider.data_requests()[-1][2]), expected[:2])


def test_an_upload_without_a_policy_leaves_as_it_came(live: Range) -> None:
    body = encode_npy(np.ones((2, 3), dtype=np.float32))
    live.post(live.key(), "outputs", body, accept=JSON, X_Release="softmax")
    assert live.provider.data_requests()[0][2] == body


def _png(image: Any) -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "PNG")
    return stream.getvalue()


def test_sticky_noise_knows_a_picture_in_whichever_form_it_comes(live: Range) -> None:
    live.policy({"noise": {"scale": 1.0, "sticky": True}})
    key, image = live.key(), pictures(1)
    first = live.query(key, image)
    assert np.abs(first - clean("logits", image)).max() > 0.01
    forms: list[tuple[Any, dict[str, str]]] = [
        (encode_npy(image), {}),
        (encode_npy(image.astype(np.float32) / 255), {}),
        ({"inputs": image.tolist()}, {}),
        ({"inputs": (image / 255).tolist()}, {}),
        (_png(image[0]), {"Content_Type": "image/png"}),
    ]
    for body, headers in forms:
        assert_array_equal(values(live.post(key, "logits", body, **headers)), first)
    multipart = live.client.post(
        f"{live.url}/v1/models/digits/logits",
        files=[("files", ("a.png", _png(each), "image/png")) for each in (pictures(1, seed=5)[0], image[0])],
        headers={"Authorization": f"Bearer {key}", "Accept": NPY},
    )
    assert_array_equal(values(multipart)[1:], first)  # nor does it matter where in the batch
    other = live.query(key, image, endpoint="features")
    assert not np.allclose((other - clean("features", image))[0, :5], (first - clean("logits", image))[0])


def test_sticky_noise_knows_a_row_in_whichever_form_it_comes(live: Range) -> None:
    live.policy({"noise": {"scale": 1.0, "sticky": True}})
    live.admin("PUT", "/routes/rows", {"upstream": live.provider_url})
    key, row = live.key(20), np.array([[39, -0.0, 2174]], np.float32)

    def ask(kind: str, body: bytes) -> Any:
        headers = {"Authorization": f"Bearer {key}", "Accept": NPY, "Content-Type": kind}
        return live.client.post(f"{live.url}/v1/models/rows/logits", content=body, headers=headers)

    first = values(ask(NPY, encode_npy(row)))
    assert np.abs(first - clean("logits", row)).max() > 0.01
    forms = {
        NPY: encode_npy(row.astype(">f8")),
        JSON: b'{"inputs": [[39, 0.0, 2174]]}',
        CSV: b"gain,age,hours\n7,7,7\n2174,39,0",
    }
    for kind, body in forms.items():
        assert_array_equal(values(ask(kind, body))[-1:], first)
    assert live.account()["spent"] == 1 + 1 + 1 + 2
    problem(ask(CSV, b"gain,age\n2174,39"), 422, "invalid-input")
    problem(ask("image/png", b"no picture"), 415, "unsupported-media-type")
    assert live.account()["spent"] == 5


def test_sticky_noise_is_the_same_for_all_keys_and_all_proxies(live: Range, another: Any) -> None:
    live.policy({"noise": {"scale": 1.0, "sticky": True}})
    first = live.query(live.key(), pictures(2))
    assert_array_equal(another().query(live.key(id="second"), pictures(2)), first)


def test_fresh_noise_is_fresh_and_sticky_uploads_are_not(live: Range) -> None:
    key = live.key()
    live.policy({"noise": {"scale": 1.0}})
    assert not np.allclose(live.query(key, pictures(1)), live.query(key, pictures(1)))
    live.policy({"noise": {"scale": 1.0, "sticky": True}})
    body = encode_npy(np.ones((1, 3), dtype=np.float32))
    for _ in range(2):
        live.post(key, "outputs", body, accept=JSON, X_Release="logits")
    sent = [decode_npy(each[2]) for each in live.provider.data_requests()[-2:]]
    assert_array_equal(sent[0], sent[1])
    assert not np.allclose(sent[0], 1.0)


def test_sticky_noise_differs_between_endpoints(live: Range) -> None:
    """Else the difference of a picture's logits and soft outputs would be free of noise."""
    live.policy({"noise": {"scale": 1.0, "sticky": True}})
    key, image = live.key(), pictures(1)
    logits, soft = (
        live.query(key, image, endpoint) - clean(endpoint, image) for endpoint in ("logits", "softmax")
    )
    assert np.abs(soft - logits).min() > 1e-3


def test_sticky_noise_differs_between_models(live: Range) -> None:
    """The stub answers the same for both: with the same noise, one would tell what the other is."""
    live.policy({"noise": {"scale": 1.0, "sticky": True}})
    live.admin("PUT", "/routes/faces", {"upstream": live.provider_url})
    key, image = live.key(), pictures(1)
    headers = {"Authorization": f"Bearer {key}", "Accept": NPY, "Content-Type": NPY}
    url = f"{live.url}/v1/models/faces/logits"
    other = live.client.post(url, content=encode_npy(image), headers=headers)
    assert np.abs(values(other) - live.query(key, image)).min() > 1e-3


@pytest.mark.parametrize("accept", [JSON, NPY])
@pytest.mark.parametrize("policy", [{"noise": {"scale": 1e-6, "sticky": True}}, {"round": {"decimals": 3}}])
def test_a_model_that_was_replaced_by_one_of_another_size_is_answered_at_once(
    live: Range, accept: str, policy: dict[str, Any]
) -> None:
    """Of other pictures, which sticky noise must see, and of more classes."""
    live.policy(policy)
    key, larger = live.key(), np.zeros((2, 12, 12, 1), dtype=np.uint8)
    live.query(key, pictures(1))
    release = np.arange(14, dtype=np.float32).reshape(2, 7)

    async def replaced(path: str) -> tuple[int, str, bytes]:
        if path == "/v1/models/digits":
            now = card("digits") | {
                "input": SampleSpec.picture(12, 12, 1).model_dump(),
                "classes": list("abcdefg"),
            }
            return 200, JSON, orjson.dumps(now)
        if accept == NPY:
            return 200, NPY, encode_npy(release)
        return 200, JSON, orjson.dumps({"values": release}, option=orjson.OPT_SERIALIZE_NUMPY)

    live.provider.before = replaced
    answer = live.post(key, "logits", encode_npy(larger), accept=accept)
    assert answer.status_code == 200, answer.text
    np.testing.assert_allclose(values(answer), release, atol=1e-4)


def test_a_zero_has_no_sign(live: Range) -> None:
    """Else it would tell on which side of zero the value was that rounding took away."""
    live.policy({"round": {"decimals": 0}})
    images = pictures(8)
    assert (np.rint(clean("logits", images)) == 0).any()
    for accept in (JSON, NPY):
        released = values(live.post(live.key(id=accept[-3:]), "logits", encode_npy(images), accept=accept))
        assert not np.signbit(released[released == 0]).any()


def test_a_policy_that_means_nothing_on_a_release_refuses_it_at_no_cost(live: Range) -> None:
    live.policy("argmax")
    key = live.key(100)
    problem(live.post(key, "features", encode_npy(pictures(1))), 403, "forbidden")
    problem(live.post(key, "verification", encode_npy(pictures(2)[np.newaxis])), 403, "forbidden")
    assert live.provider.data_requests() == []
    assert live.account()["spent"] == 0


def test_the_most_specific_binding_holds(live: Range) -> None:
    """Each more specific binding wins over all before it: marked by what it clips to."""
    key, image = live.key(), pictures(1)
    bindings = [
        {},
        {"model": "digits"},
        {"model": "digits", "endpoint": "logits"},
        {"key": "key"},
        {"key": "key", "model": "digits"},
        {"key": "key", "model": "digits", "endpoint": "logits"},
    ]
    for mark, binding in enumerate(bindings):
        live.policy({"clip": {"min": mark, "max": mark}}, name=f"p{mark}", bind=False)
        live.admin("PUT", "/bindings", {**binding, "policy": f"p{mark}"})
        assert (live.query(key, image) == mark).all(), binding
    assert (live.query(key, image, endpoint="features") == 4).all()
    assert (live.query(live.key(id="stranger"), image) == 2).all()
    for mark in (5, 4, 3, 2, 1, 0):
        live.client.request(
            "DELETE",
            f"{live.url}/admin/bindings",
            params=bindings[mark],
            headers={"Authorization": "Bearer 0123456789abcdef-operator-of-the-tests"},
        ).raise_for_status()
        expected = clean("logits", image) if mark == 0 else mark - 1
        assert (live.query(key, image) == expected).all()


def test_a_policy_is_replaced_live_in_every_process(live: Range, another: Any) -> None:
    second, key, image = another(), live.key(), pictures(1)
    for mark in range(5):
        through, other = (live, second) if mark % 2 else (second, live)
        through.policy({"clip": {"min": mark, "max": mark}})
        assert (live.query(key, image) == mark).all()
        assert (other.query(key, image) == mark).all()


def test_what_the_policy_does_is_what_the_library_does(live: Range) -> None:
    chain = [{"temperature": 2.0}, {"top-k": 3}, {"round": {"figures": 2}}]
    live.policy(*chain)
    images = pictures(6)
    expected = Chain.parse(chain).apply(clean("softmax", images), ReleaseContext(release="softmax"))
    assert_array_equal(live.query(live.key(), images, endpoint="softmax"), expected)
