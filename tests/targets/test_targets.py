"""What a target's file says, what is sent to it, and what is read from its answers."""

from __future__ import annotations

import base64
import csv
import io
import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import orjson
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image

from leakrange.targets import template
from leakrange.targets.dialogue import Refused, TargetCall, TargetReply, dialogue, probe_of, with_secrets
from leakrange.targets.target import PLACEHOLDERS, RemoteTarget, presets, read_target
from leakrange.wire.errors import InvalidInput
from leakrange.wire.open_inference import HEAD_LENGTH

HERE = "http://127.0.0.1:8080"
CLASSES = ("low", "middle", "high")
TABLE = {"encoding": "table", "columns": ["age", "sex"], "categories": {"sex": ["f", "m"]}}
ROWS = np.array([[41.5, 1], [30, 0]], np.float32)
VECTORS = np.array([[1, 2, 3, 4], [5, 6, 7, 8]], np.float32)
VALUES = np.array([[0.5, 0.25, 0.25], [0.125, 0.125, 0.75]], np.float32)


def target(**changes: Any) -> RemoteTarget:
    given = {
        "name": "risk",
        "owner": "team@example.com",
        "card": {"input": {"encoding": "vector", "shape": [4]}, "classes": list(CLASSES)},
        "url": HERE,
        "model": "m",
    }
    return read_target(yaml.safe_dump(given | changes))


def card(**changes: Any) -> dict[str, Any]:
    return {"input": {"encoding": "vector", "shape": [4]}, "classes": list(CLASSES)} | changes


def mistake(**changes: Any) -> str:
    with pytest.raises(InvalidInput) as caught:
        target(**changes)
    return caught.value.detail


def asked(
    which: RemoteTarget, samples: NDArray[Any], *answers: Any
) -> tuple[list[TargetCall], NDArray[np.float32]]:
    """The requests, and the release in the end, for a target that gives these answers."""
    talk = dialogue(which, samples)
    calls = [next(talk)]
    for answer in answers:
        reply = answer if isinstance(answer, TargetReply) else TargetReply({}, orjson.dumps(answer))
        try:
            calls.append(talk.send(reply))
        except StopIteration as end:
            return calls, end.value
    raise AssertionError("the target asks for more")


def sent(call: TargetCall) -> Any:
    assert call.body is not None
    return orjson.loads(call.body)


# --- the file ---------------------------------------------------------------------------------------------


def test_a_probe_is_one_sample_and_no_part_of_what_decides_the_answers() -> None:
    plain = target(preset="mlflow-inputs")
    tried = target(preset="mlflow-inputs", probe=[41, 8, 0.5, 3])
    np.testing.assert_array_equal(probe_of(tried), np.array([[41, 8, 0.5, 3]], np.float32))
    np.testing.assert_array_equal(probe_of(plain), np.zeros((1, 4), np.float32))
    assert tried.digest() == plain.digest()
    assert "'probe' is one sample: 4 numbers" in mistake(preset="mlflow-inputs", probe=[1, 2])
    assert "4 numbers" in mistake(preset="mlflow-inputs", probe=[1, 2, 3, math.nan])
    pictures = card(
        input={"encoding": "picture", "shape": [2, 1, 1]}, release="score", service="verification"
    )
    pair = probe_of(target(preset="mlflow-inputs", card=pictures, probe=[9, 200]))
    assert (pair.tolist(), pair.dtype) == ([[[[[9]], [[200]]]] * 2], np.uint8)


def test_an_address_elsewhere_wants_to_know_who_allowed_the_test() -> None:
    far = {"preset": "mlflow-inputs", "url": "https://models.example.org"}
    assert "'authorised' says who allowed the test" in mistake(**far)
    allowed = target(**far, authorised="ticket 4711, until 2027-01-31")
    assert allowed.until is not None
    assert allowed.until.isoformat() == "2027-01-31"
    for near in ("http://localhost:1", "http://127.0.0.9", "http://[::1]:80"):
        assert target(preset="mlflow-inputs", url=near).until is None
    assert "authorised" in mistake(preset="mlflow-inputs", url="http://127.0.0.1.example.org")


@pytest.mark.parametrize("header", ["Authorization", "X-API-Key", "x-auth-token", "Cookie"])
def test_a_secret_stays_out_of_the_file(header: str) -> None:
    message = mistake(preset="mlflow-inputs", headers={header: "Bearer s3cret"})
    assert header in message
    assert "s3cret" not in message
    kept = target(preset="mlflow-inputs", headers={header: "Bearer ${RISK_KEY}"})
    assert kept.variables == {"RISK_KEY"}
    [call], _ = asked(kept, VECTORS, {"predictions": VALUES.tolist()})
    assert with_secrets(call.headers, {"RISK_KEY": "s3cret"})[header] == "Bearer s3cret"
    with pytest.raises(InvalidInput, match="RISK_KEY is not set"):
        with_secrets(call.headers, {})


def test_mistakes_are_said_with_their_place() -> None:
    assert "there is no preset 'kserv'" in mistake(preset="kserv")
    assert "the preset kserve-v1 wants 'model'" in mistake(preset="kserve-v1", model=None)
    assert "has no option 'outputs'" in mistake(preset="open-inference", options={"outputs": "x"})
    assert "'classes'" in mistake(preset="kserve-v1", card=card(classes=["one"]))
    assert "is no JSONPath" in mistake(steps=[{"post": HERE, "read": {"values": "$["}}])
    assert "${rest} stands for nothing" in mistake(
        steps=[{"post": HERE, "json": {"a": "${rest}"}, "read": {"values": "$"}}]
    )
    assert "the last step has a 'read'" in mistake(steps=[{"get": HERE}])
    assert "'price'" in mistake(preset="kserve-v1", limits={"money": 5})
    assert "no address" in mistake(steps=[{"post": "ftp://x", "read": {"values": "$"}}])
    assert "holds no password" in mistake(steps=[{"post": "http://a:b@localhost", "read": {"values": "$"}}])


def test_the_digest_is_of_what_decides_the_answers() -> None:
    one = target(preset="kserve-v1")
    assert one.digest() == target(preset="kserve-v1", name="other", limits={"batch": 7}).digest()
    assert one.digest() != target(preset="kserve-v1", model="n").digest()
    assert one.digest() != target(preset="kserve-v1", card=card(classes=list(CLASSES[::-1]))).digest()


def test_limits_in_words() -> None:
    limits = target(
        preset="kserve-v1", limits={"rate": "90/min", "throttled": [429, "400 Throttling"]}
    ).limits
    assert math.isclose(limits.seconds_a_request, 2 / 3)
    assert limits.throttled == ("429", "400 Throttling")
    assert target(preset="kserve-v1").limits.seconds_a_request == 0.0


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(sorted(RemoteTarget.model_fields)), x),
    )
)
def test_any_document_is_read_or_refused_in_words(document: Any) -> None:
    with suppress(InvalidInput):
        read_target(yaml.safe_dump(document))


# --- what is sent -----------------------------------------------------------------------------------------


def test_every_placeholder_is_made() -> None:
    assert set(template._MADE_BY) == PLACEHOLDERS


def test_rows_carry_names_and_categories() -> None:
    each = {"each": "$.predictions[*]", "values": "$"}
    table = card(input=TABLE)
    for body, wanted in (
        ({"i": "${rows}"}, {"i": [{"age": 41.5, "sex": "m"}, {"age": 30, "sex": "f"}]}),
        ({"i": "${columns}"}, {"i": {"age": [41.5, 30], "sex": ["m", "f"]}}),
        (
            {"c": "${column_names}", "d": ["${values}"]},
            {"c": ["age", "sex"], "d": [[[41.5, "m"], [30, "f"]]]},
        ),
    ):
        which = target(card=table, steps=[{"post": HERE, "json": body, "read": each}])
        calls, _ = asked(which, ROWS, {"predictions": VALUES.tolist()})
        assert sent(calls[0]) == wanted
    which = target(card=table, steps=[{"post": HERE, "csv": True, "read": each}])
    calls, _ = asked(which, ROWS, {"predictions": VALUES.tolist()})
    assert calls[0].body is not None
    assert list(csv.reader(io.StringIO(calls[0].body.decode()))) == [
        ["age", "sex"],
        ["41.5", "m"],
        ["30", "f"],
    ]
    with pytest.raises(Refused, match="'sex' has categories for the codes 0 to 1"):
        asked(which, np.array([[1, 2]], np.float32))


def test_pictures_go_as_pngs_one_a_request() -> None:
    spec = {"encoding": "picture", "shape": [2, 3, 1]}
    picture = np.arange(6, dtype=np.uint8).reshape(1, 2, 3, 1)
    hub = target(card=card(input=spec), preset="huggingface")
    assert hub.batch == 1
    calls, _ = asked(hub, picture, [{"label": name, "score": 0.5} for name in CLASSES])
    drawn = np.array(Image.open(io.BytesIO(base64.b64decode(sent(calls[0])["inputs"]))))
    assert drawn.tolist() == picture[0, ..., 0].tolist()
    form = target(
        card=card(input=spec),
        steps=[{"post": HERE, "form": {"image": "${png}", "n": "7"}, "read": {"values": "$"}}],
    )
    calls, _ = asked(form, picture, VALUES[0].tolist())
    assert calls[0].headers["Content-Type"].startswith("multipart/form-data; boundary=")
    assert calls[0].body is not None
    assert b'name="image"; filename="image.png"\r\nContent-Type: image/png\r\n\r\n\x89PNG' in calls[0].body
    assert b'name="n"\r\n\r\n7\r\n' in calls[0].body


def test_a_later_step_uses_what_an_earlier_one_captured() -> None:
    """As services for faces do: detect in two requests, then verify."""
    spec = {"encoding": "picture", "shape": [2, 2, 1]}
    detect = {"post": f"{HERE}/detect", "json": {"image": "${first_png}"}, "capture": {"one": "$[0].faceId"}}
    other = {"post": f"{HERE}/detect", "json": {"image": "${second_png}"}, "capture": {"two": "$[0].faceId"}}
    verify = {
        "post": f"{HERE}/verify/${{one}}",
        "json": {"faceId1": "${one}", "faceId2": "${two}"},
        "read": {"values": "$.confidence", "scale": -1, "offset": 1},
    }
    faces = target(
        card={"input": spec, "release": "score", "service": "verification"}, steps=[detect, other, verify]
    )
    pair = np.array([[[[[0], [1]], [[2], [3]]], [[[4], [5]], [[6], [7]]]]], np.uint8)
    calls, values = asked(faces, pair, [{"faceId": "a"}], [{"faceId": "b"}], {"confidence": 0.75})
    assert [call.url.removeprefix(HERE) for call in calls] == ["/detect", "/detect", "/verify/a"]
    assert sent(calls[0])["image"] != sent(calls[1])["image"]
    assert sent(calls[2]) == {"faceId1": "a", "faceId2": "b"}
    assert values.tolist() == [[0.25]]
    with pytest.raises(Refused, match=r"the answer has nothing at \$\[0\]\.faceId"):
        asked(faces, pair, [])


# --- what is read -----------------------------------------------------------------------------------------


def tensors(values: NDArray[Any]) -> TargetReply:
    """An answer with another output before ours, in Triton's binary form."""
    before = np.arange(3, dtype=np.int64)
    outputs = [
        {"name": "ids", "shape": [3], "datatype": "INT64", "parameters": {"binary_data_size": before.nbytes}},
        {
            "name": "output",
            "shape": list(values.shape),
            "datatype": "FP32",
            "parameters": {"binary_data_size": values.nbytes},
        },
    ]
    head = orjson.dumps({"model_name": "m", "outputs": outputs})
    return TargetReply({HEAD_LENGTH.lower(): str(len(head))}, head + before.tobytes() + values.tobytes())


ANSWERS: dict[str, Callable[[NDArray[np.float32]], Any]] = {
    "kserve-v1": lambda values: {"predictions": values.tolist()},
    "mlflow-inputs": lambda values: {"predictions": values.tolist()},
    "open-inference": lambda values: {
        "outputs": [{"name": "ids", "data": [1, 2]}, {"name": "output", "data": values.ravel().tolist()}]
    },
    "open-inference-binary": tensors,
    "native": lambda values: {"values": values.tolist()},
}


@pytest.mark.parametrize("preset", ANSWERS)
@pytest.mark.parametrize("samples", [1, 2])
def test_presets_read_what_their_servers_answer(preset: str, samples: int) -> None:
    values = VALUES[:samples] * np.float32(1 / 3)
    which = target(preset=preset, **({"model": None} if preset == "mlflow-inputs" else {}))
    calls, released = asked(which, VECTORS[:samples], ANSWERS[preset](values))
    assert released.tolist() == values.tolist()
    if preset != "open-inference-binary":
        numbers = orjson.dumps(sent(calls[0])).decode()
        assert all(f"{number:.1f}" in numbers for number in VECTORS[:samples].ravel())


def test_every_preset_can_be_used() -> None:
    pictured = {"input": {"encoding": "picture", "shape": [2, 2, 1]}}
    cards = {
        "compare-faces": {**pictured, "release": "score", "service": "verification"},
        "huggingface": card(**pictured),
        "kserve-v1-rows": card(input=TABLE),
        "mlflow": card(input=TABLE),
        "openai-embeddings": {**pictured, "release": "features", "service": "features", "features": 3},
    }
    for name in presets():
        which = target(preset=name, card=cards.get(name, card()))
        assert next(dialogue(which, _samples(which))).url.startswith(HERE)


def _samples(which: RemoteTarget) -> NDArray[Any]:
    spec, pair = which.card.input.spec, (2,) if which.card.release == "score" else ()
    return np.ones((1, *pair, *spec.shape), spec.dtype)


def test_a_list_of_labels_and_scores_is_put_into_the_order_of_the_classes() -> None:
    hub = target(card=card(input={"encoding": "picture", "shape": [2, 2, 1]}), preset="huggingface")
    answer = [
        {"label": "high", "score": 0.7},
        {"label": "low", "score": 0.2},
        {"label": "middle", "score": 0.1},
    ]
    picture = np.zeros((1, 2, 2, 1), np.uint8)
    assert asked(hub, picture, answer)[1] == pytest.approx(np.array([[0.2, 0.1, 0.7]]))
    for wrong, words in (
        (answer[:2], "no value of the class 'middle'"),
        ([*answer, answer[0]], "two values of the class 'high'"),
        ([{"label": "other", "score": 1}], "is none of the card's classes: low, middle, high"),
    ):
        with pytest.raises(Refused, match=words):
            asked(hub, picture, wrong)


def read_as(read: dict[str, Any], answer: Any, samples: int = 2, **changes: Any) -> list[list[float]]:
    which = target(card=card(**changes), steps=[{"post": HERE, "json": "${samples}", "read": read}])
    return asked(which, VECTORS[:samples], answer)[1].tolist()


def test_answers_of_many_forms() -> None:
    rows = [{"p": {"high": 0.5, "low": 0.25, "middle": 0.25}}, {"p": {"middle": 1, "high": 0, "low": 0}}]
    assert read_as({"each": "$[*]", "values": "$.p"}, rows) == [[0.25, 0.25, 0.5], [0, 1, 0]]
    assert read_as({"labels": "$[*].l"}, [{"l": "high"}, {"l": "low"}], answers="labels") == [
        [0, 0, 1],
        [1, 0, 0],
    ]
    assert read_as({"labels": "$.classes"}, {"classes": [2, 0]}, answers="labels") == [[0, 0, 1], [1, 0, 0]]
    top = {"each": "$[*]", "values": "$[*].s", "labels": "$[*].l", "missing": 0}
    assert read_as(top, [[{"l": "high", "s": 0.5}], [{"l": "low", "s": 1}]], answers="top") == [
        [0, 0, 0.5],
        [1, 0, 0],
    ]
    one = {"values": "$.p", "of": "yes"}
    assert read_as(one, {"p": [0.25, 1]}, classes=["yes", "no"]) == [[0.25, 0.75], [1, 0]]
    assert read_as(one, {"p": 0.25}, samples=1, classes=["no", "yes"]) == [[0.75, 0.25]]


def test_a_similarity_below_the_threshold_is_the_greatest_distance() -> None:
    pictured = {
        "input": {"encoding": "picture", "shape": [2, 2, 1]},
        "release": "score",
        "service": "verification",
    }
    faces, pair = target(card=pictured, preset="compare-faces"), np.zeros((1, 2, 2, 2, 1), np.uint8)
    assert asked(faces, pair, {"FaceMatches": [{"Similarity": 75.0}]})[1].tolist() == [[0.25]]
    assert asked(faces, pair, {"FaceMatches": [], "UnmatchedFaces": [{}]})[1].tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"predictions": [[0.5, 0.5, 0]]}, "2 samples were sent, and the answer holds 1"),
        ({"predictions": [[0.5, 0.5], [0.5, 0.5]]}, r"have shape \(2, 2\), and not \(2, 3\)"),
        ({"predictions": [[0.5, 0.5, "x"], [1, 0, 0]]}, "'x' stands where a number is expected"),
        ({"predictions": [[0.5, 0.5, True], [1, 0, 0]]}, "'True' stands where a number is expected"),
        ({"predictions": [[1, 2, 3], [1, 2]]}, "2 values for one sample and 3 for another"),
        ({"predictions": [[1e300, 0, 0], [1, 0, 0]]}, "finite"),
        (TargetReply({}, b"<html>"), "it is no JSON"),
        ({"error": "no such model"}, "the answer holds 0"),
    ],
)
def test_answers_that_do_not_fit_are_refused_in_words(answer: Any, words: str) -> None:
    with pytest.raises(Refused, match=words):
        asked(target(preset="kserve-v1"), VECTORS, answer)


JSONS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["predictions", "outputs", "name", "data", "values"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(sorted(ANSWERS)), JSONS, st.integers(1, 2))
def test_any_answer_is_read_or_refused_in_words(preset: str, answer: Any, samples: int) -> None:
    which = target(preset=preset)
    with suppress(Refused):
        _, values = asked(which, VECTORS[:samples], TargetReply({}, orjson.dumps(answer)))
        assert values.shape == (samples, 3)
        assert np.isfinite(values).all()


@given(st.binary(max_size=200), st.sampled_from([None, "0", "7", "-1", "x", "99999999999999999999"]))
def test_any_tensors_are_read_or_refused_in_words(body: bytes, length: str | None) -> None:
    reply = TargetReply({} if length is None else {HEAD_LENGTH.lower(): length}, body)
    with pytest.raises(Refused):
        asked(target(preset="open-inference-binary"), VECTORS, reply)


@pytest.mark.parametrize(
    "change", [{"shape": [2, 2]}, {"shape": [-2, -3]}, {"datatype": "BYTES"}, {"name": "other"}]
)
def test_tensors_that_are_not_what_they_say_are_refused(change: dict[str, Any]) -> None:
    good = tensors(VALUES)
    length = int(good.headers[HEAD_LENGTH.lower()])
    head = orjson.loads(good.body[:length])
    head["outputs"][1] |= change
    changed = orjson.dumps(head)
    reply = TargetReply({HEAD_LENGTH.lower(): str(len(changed))}, changed + good.body[length:])
    with pytest.raises(Refused):
        asked(target(preset="open-inference-binary"), VECTORS, reply)


@pytest.mark.parametrize("preset", ["kserve-v1", "open-inference", "open-inference-binary"])
def test_values_are_put_into_the_order_of_the_classes_that_are_released(preset: str) -> None:
    """The server answers in the order high, low, middle."""
    which = target(preset=preset, card=card(order=["high", "low", "middle"]))
    _, released = asked(which, VECTORS, ANSWERS[preset](VALUES[:, [2, 0, 1]].copy()))
    assert released.tolist() == VALUES.tolist()


def test_what_names_its_classes_needs_no_order() -> None:
    by_name = [{"p": {"high": 0.5, "low": 0.25, "middle": 0.25}}, {"p": {"middle": 1, "high": 0, "low": 0}}]
    order = ["high", "low", "middle"]
    assert read_as({"each": "$[*]", "values": "$.p"}, by_name, order=order) == [[0.25, 0.25, 0.5], [0, 1, 0]]
    numbers = {"classes": [0, 2]}  # of the server's classes
    assert read_as({"labels": "$.classes"}, numbers, answers="labels", order=order) == [[0, 0, 1], [0, 1, 0]]


def test_labels_that_are_spelled_otherwise_stand_for_classes() -> None:
    read = {"each": "$[*]", "values": "$"}
    steps = [{"post": HERE, "json": "${samples}", "read": read}]
    spelled = card(classes=[0, 1], means={"stay": "0", "leave": "1"})
    _, values = asked(
        target(steps=steps, card=spelled),
        VECTORS,
        [{"leave": 0.25, "stay": 0.75}, {"stay": 0.125, "leave": 0.875}],
    )
    assert values.tolist() == [[0.75, 0.25], [0.125, 0.875]]
    with pytest.raises(Refused, match="'left' is none of the card's classes") as caught:
        asked(target(steps=steps, card=spelled), VECTORS, [{"stay": 1, "left": 0}, {"stay": 1, "leave": 0}])
    assert "means" in str(caught.value.hint)
    assert "'means' names '2', which is no class" in mistake(card=card(classes=[0, 1], means={"a": "2"}))
    assert "put the classes into quotes" in mistake(card=card(classes=[False, True]))
