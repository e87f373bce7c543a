"""What a pasted request and an answer tell of a target: read back, they give what was there."""

from __future__ import annotations

import base64
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from leakrange.targets.answer_guess import guess_answer, guess_values
from leakrange.targets.curl import read_curl
from leakrange.targets.draft import doubtful_lines, written
from leakrange.targets.reading import read_values
from leakrange.targets.request_guess import guess_request
from leakrange.targets.target import TargetCard, TargetRead
from leakrange.wire.errors import InvalidInput
from leakrange.wire.pictures import png

VALUES = [0.125, 0.25, 0.625]
NAMES = ["low", "middle", "high"]
TENSOR = {"name": "probs", "shape": [1, 3], "datatype": "FP32", "data": VALUES}


def no_file(path: Path) -> bytes:
    raise AssertionError(f"{path} is read")


def values_read(answer: Any, *, many: bool) -> list[float]:
    """What the guess reads in the answer that it was made from."""
    guess = guess_answer(answer, many=many)
    card = TargetCard.model_validate(
        {
            "input": {"encoding": "vector", "shape": [4]},
            "classes": guess.classes or [str(place) for place in range(guess.count)],
            "release": guess.release,
            "features": guess.count,
            "answers": guess.answers,
        }
    )
    values: list[float] = read_values(answer, TargetRead.model_validate(guess.read), card, 1)[0].tolist()
    return values


@pytest.mark.parametrize(
    ("answer", "many", "read"),
    [
        (
            {"predictions": [{"probs": VALUES, "label": "high"}], "took": 3},
            True,
            {"each": "$.predictions[*]", "values": "$.probs"},
        ),
        ([VALUES], True, {"each": "$[*]", "values": "$"}),
        ({"result": {"softmax": VALUES}}, False, {"values": "$.result.softmax"}),
        (
            [[{"label": name, "score": value} for name, value in zip(NAMES, VALUES, strict=True)]],
            True,
            {"each": "$[*]", "values": "$[*].score", "labels": "$[*].label"},
        ),
        ({"labels": NAMES, "scores": VALUES}, False, {"values": "$.scores", "labels": "$.labels"}),
        ({"scores": dict(zip(NAMES, VALUES, strict=True))}, False, {"values": "$.scores"}),
        ({"outputs": [TENSOR]}, True, {"values": "$.outputs[?@.name=='probs'].data"}),
        ({"a b": {"values": VALUES}}, False, {"values": '$["a b"].values'}),
    ],
)
def test_a_softmax_is_found_wherever_it_stands(answer: Any, many: bool, read: dict[str, str]) -> None:
    guess = guess_answer(answer, many=many)
    assert (guess.release, guess.reason) == ("softmax", "three numbers that sum to 1: softmax")
    assert guess.read == read
    named = "label" in str(answer) and "probs" not in str(answer)
    assert (guess.classes is not None) == (named or (isinstance(answer, dict) and "low" in str(answer)))
    assert ("classes" in guess.doubts) == (guess.classes is None)
    assert values_read(answer, many=many) == VALUES


@pytest.mark.parametrize(
    ("answer", "many", "release", "answers", "values"),
    [
        ({"score": 0.75}, False, "softmax", "all", [0.25, 0.75]),
        ({"predictions": [0.75]}, True, "softmax", "all", [0.25, 0.75]),
        ({"prediction": "cat"}, False, "softmax", "labels", [1.0, 0.0]),
        ({"predictions": ["cat"]}, True, "softmax", "labels", [1.0, 0.0]),
        ({"predictions": [{"label": "cat", "score": 0.5}]}, True, "softmax", "top", [0.5, 0.0]),
        ({"classes": ["a", "b"], "probability": [25, 75]}, False, "softmax", "all", [0.25, 0.75]),
        ({"scores": [3.5, -1, 2]}, False, "logits", "all", [3.5, -1.0, 2.0]),
        (
            {"data": [{"embedding": [0.5] * 30, "index": 0}], "usage": {"tokens": 3, "total": 3}},
            True,
            "features",
            "all",
            [0.5] * 30,
        ),
    ],
)
def test_other_releases_are_told_apart(
    answer: Any, many: bool, release: str, answers: str, values: list[float]
) -> None:
    guess = guess_answer(answer, many=many)
    assert (guess.release, guess.answers) == (release, answers)
    assert values_read(answer, many=many) == values
    if release != "softmax" or answers != "all" or (len(values) == 2 and "classes" not in answer):
        assert guess.doubts


def test_an_answer_without_values_is_told() -> None:
    for answer in ({}, {"error": "no"}, [None], "text", {"id": 7, "ready": True}):
        with pytest.raises(InvalidInput, match="nothing in the answer"):
            guess_answer(answer, many=True)


KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | KEYS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON, st.booleans())
def test_whatever_an_answer_is_the_guess_is_of_one_piece(answer: Any, many: bool) -> None:
    with suppress(InvalidInput):
        guess = guess_answer(answer, many=many)
        TargetRead.model_validate(guess.read)
        with suppress(InvalidInput, ValueError):
            values_read(answer, many=many)


@given(
    st.lists(st.integers(1, 50), min_size=2, max_size=6),
    st.lists(KEYS | st.just(0), max_size=4),
    st.booleans(),
)
def test_a_softmax_is_read_back_from_any_depth(weights: list[int], path: list[str | int], many: bool) -> None:
    values = np.array(weights) / sum(weights)
    answer: Any = values.tolist()
    for part in reversed(path):
        answer = [answer] if part == 0 else {part: answer}
    guess = guess_answer(answer, many=many)
    assert guess.release == "softmax"
    assert values_read(answer, many=many) == pytest.approx(values.tolist(), abs=1e-6)


def test_numbers_without_an_answer_around_them() -> None:
    assert guess_values([0.5, 0.5], ["a", "b"]).classes == ("a", "b")
    assert guess_values([0.1] * 10).reason == "ten numbers that sum to 1: softmax"


# --- requests ---------------------------------------------------------------------------------------------


def guessed(command: str) -> Any:
    return guess_request(read_curl(command, no_file), "risk", no_file)


def of_body(body: Any, *more: str) -> Any:
    return guessed(shlex.join(["curl", "http://127.0.0.1:1/x", "-d", orjson.dumps(body).decode(), *more]))


@pytest.mark.parametrize(
    ("body", "template", "described", "many"),
    [
        ({"inputs": [[1, 2.5, 3]]}, {"inputs": "${samples}"}, {"encoding": "vector", "shape": [3]}, True),
        (
            {"x": [1, 2.5], "top_k": 5},
            {"x": "${sample}", "top_k": 5},
            {"encoding": "vector", "shape": [2]},
            False,
        ),
        (
            {"instances": [[[[7], [250]]]]},
            {"instances": "${samples}"},
            {"encoding": "picture", "shape": [1, 2, 1], "dtype": "uint8"},
            True,
        ),
        (
            {"rows": [{"age": 41, "sex": "f"}, {"age": 30, "sex": "m"}]},
            {"rows": "${rows}"},
            {"encoding": "table", "columns": ["age", "sex"], "categories": {"sex": ["f", "m"]}},
            True,
        ),
        (
            {"rows": [{"age": 41, "active": True, "since": None}]},
            {"rows": "${rows}"},
            {"encoding": "table", "columns": ["age", "active", "since"]},
            True,
        ),
        ({"age": 41, "hours": 8}, "${row}", {"encoding": "table", "columns": ["age", "hours"]}, False),
        (
            {"data": {"age": [41], "hours": [8]}},
            {"data": "${columns}"},
            {"encoding": "table", "columns": ["age", "hours"]},
            True,
        ),
        (
            {"dataframe_split": {"columns": ["age", "hours"], "data": [[41, 8]]}},
            {"dataframe_split": {"columns": "${column_names}", "data": "${values}"}},
            {"encoding": "table", "columns": ["age", "hours"]},
            True,
        ),
        (
            {"inputs": [{"name": "x", "shape": [1, 2], "datatype": "FP32", "data": [4, 5]}]},
            {"inputs": [{"name": "x", "shape": "${shape}", "datatype": "${datatype}", "data": "${flat}"}]},
            {"encoding": "vector", "shape": [2]},
            True,
        ),
    ],
)
def test_the_sample_in_a_body_is_found(body: Any, template: Any, described: Any, many: bool) -> None:
    guess = of_body(body)
    assert guess.step == {"post": "http://127.0.0.1:1/x", "json": template}
    assert (guess.input, guess.many) == (described, many)
    assert len(guess.sample) == 1


def test_pictures_and_rows_of_csv_are_found(tmp_path: Path) -> None:
    picture = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    in_text = of_body({"img": "data:image/png;base64," + base64.b64encode(png(picture)).decode()})
    assert in_text.step["json"] == {"img": "${png}"}
    (tmp_path / "a.png").write_bytes(png(picture))
    command = f"curl http://127.0.0.1:1/x -F mode=fast -F 'file=@{tmp_path}/a.png;type=image/png'"
    in_form = guess_request(read_curl(command, Path.read_bytes), "risk", Path.read_bytes)
    assert in_form.step["form"] == {"mode": "fast", "file": "${png}"}
    for guess in (in_text, in_form):
        assert guess.input == {"encoding": "picture", "shape": [2, 4, 3]}
        assert guess.sample.tolist() == [picture.tolist()]
        assert not guess.many
    rows = guessed("curl http://127.0.0.1:1/x -H 'content-type: text/csv' -d $'age,hours\n41,8'")
    assert rows.step == {"post": "http://127.0.0.1:1/x", "csv": True}
    assert rows.input["columns"] == ["age", "hours"]
    assert rows.sample.tolist() == [[41, 8]]


def test_secrets_become_variables_and_browsers_headers_are_left_out() -> None:
    guess = of_body(
        {"inputs": [[1, 2]]},
        *("-H", "authorization: Bearer abc.def", "-H", "X-Api-Key: zzz", "-b", "session=1"),
        *("-H", "X-Trace: 0a1b2c3d4e5f6a7b8c9d", "-H", "Accept: application/json", "-H", "sec-ch-ua: x"),
    )
    assert guess.step["headers"] == {
        "authorization": "Bearer ${RISK_KEY}",
        "X-Api-Key": "${RISK_X_API_KEY}",
        "Cookie": "${RISK_COOKIE}",
        "X-Trace": "${RISK_X_TRACE}",
        "Accept": "application/json",
    }
    assert guess.secrets["RISK_KEY"] == "abc.def"
    assert guess.secrets["RISK_COOKIE"] == "session=1"
    named = of_body({"inputs": [[1, 2]]}, "-H", "Authorization: Bearer $MY_TOKEN")
    assert (named.step["headers"], named.secrets) == ({"Authorization": "Bearer ${MY_TOKEN}"}, {})
    basic = of_body({"inputs": [[1, 2]]}, "-u", "me:pw")
    assert basic.step["headers"] == {"Authorization": "Basic ${RISK_KEY}"}
    for name in ("aws-thing", "home", "7"):
        kept = guess_request(
            read_curl("curl localhost:1 -H 'X-Token: t' -d '[[1, 2]]'", no_file), name, no_file
        )
        assert next(iter(kept.secrets)).startswith("TARGET_")


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("wget http://a", "begins with curl"),
        ("curl -d 'x", "cannot be read"),
        ("curl -d '[1, 2]'", "names no address"),
        ("curl http://127.0.0.1:1 http://127.0.0.1:2", "names two addresses"),
        ("curl http://127.0.0.1:1", "sends no body"),
        ("curl http://127.0.0.1:1 -k -d '[1, 2]'", "checks of certificates are not turned off"),
        ("curl http://127.0.0.1:1 --upload-file a", "uploads"),
        ("curl http://127.0.0.1:1 --frob -d '[1]'", "'--frob' is not known"),
        ("curl http://127.0.0.1:1 -H", "lacks its value"),
        ("curl 'http://127.0.0.1:1/x?api_key=abc' -d '[1, 2]'", "the address holds a secret (api_key)"),
        ("""curl http://127.0.0.1:1 -d '{"token": "abc", "x": [1, 2]}'""", "the body holds a secret (token)"),
        ("curl http://127.0.0.1:1 -d 'a=1'", "neither JSON, CSV nor a form"),
        ("""curl http://127.0.0.1:1 -d '{"text": "hello"}'""", "no sample stands in the body"),
        ("curl http://127.0.0.1:1 -d '[[[[[1]]]]]'", "none that can be described"),
        ("curl -X DELETE http://127.0.0.1:1 -d '[1, 2]'", "by DELETE"),
    ],
)
def test_what_is_no_request_of_a_model_is_told(command: str, words: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        guessed(command)
    assert words in caught.value.detail
    assert "abc" not in caught.value.detail


@given(st.text(max_size=60))
def test_any_text_in_a_command_is_taken_or_refused(text: str) -> None:
    for command in (f"curl {text}", f"curl http://127.0.0.1:1 -d {shlex.quote(text)}"):
        with suppress(InvalidInput):
            guess_request(read_curl(command, lambda _: b"[[1, 2]]"), "risk", lambda _: b"")


@given(JSON)
def test_any_body_is_taken_or_refused(body: Any) -> None:
    with suppress(InvalidInput):
        guess = of_body(body)
        assert guess.sample.shape[0] == 1
        assert "${" in str(guess.step)


# --- the file ---------------------------------------------------------------------------------------------


@example("\n", ["a\nb", {"\n": 1.5, "x": None}], "")
@given(KEYS, JSON, st.text(max_size=30))
def test_what_is_written_is_read_back_whatever_stands_in_it(name: str, content: Any, doubt: str) -> None:
    file = {
        "name": name,
        "owner": "team",
        "card": {"input": {"encoding": "vector", "shape": [2]}, "classes": [name, "b"]},
        "steps": [{"post": "http://127.0.0.1:1", "json": content, "read": {"values": "$"}}],
        "limits": {"batch": 3},
    }
    text = written(file, {"read": doubt}, {"classes": f"{doubt}?"})
    assert yaml.safe_load(text) == file
    [(number, field, asked)] = list(doubtful_lines(text))
    assert text.splitlines()[number - 1].startswith("  classes: ")
    assert field == "classes"
    assert asked.endswith("?")
