"""What a serving system logs becomes rows of a table."""

from __future__ import annotations

import contextlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.wire.errors import InvalidInput, MalformedBody
from leakrange.wire.inference_logs import Row, joined_rows
from tests.wire.test_cloudevents import JSON


def rows(request: Any, response: Any) -> list[Row]:
    return joined_rows(orjson.dumps(request), orjson.dumps(response))


def tensor(name: str, shape: list[int], data: Any) -> dict[str, Any]:
    return {"name": name, "shape": shape, "datatype": "FP32", "data": data}


def test_instances_and_predictions_are_rows() -> None:
    assert rows({"instances": [[1.5, 2], [3, 4]]}, {"predictions": [[0.25, 0.75], [0.5, 0.5]]}) == [
        {"x_0": 1.5, "x_1": 2, "p_0": 0.25, "p_1": 0.75},
        {"x_0": 3, "x_1": 4, "p_0": 0.5, "p_1": 0.5},
    ]


def test_named_features_and_scores_keep_their_names() -> None:
    request = {"instances": [{"age": 30, "town": "Bern", "new": True}]}
    assert rows(request, {"predictions": [{"label": "low", "scores": [0.9, 0.1]}]}) == [
        {"x_age": 30, "x_town": "Bern", "x_new": 1, "p_label": "low", "p_scores_0": 0.9, "p_scores_1": 0.1}
    ]
    assert rows({"instances": [7, 8]}, {"predictions": [0, 1]}) == [{"x": 7, "p": 0}, {"x": 8, "p": 1}]


@pytest.mark.parametrize("data", [[0.9, 0.1, 0.4, 0.6], [[0.9, 0.1], [0.4, 0.6]]])
def test_tensors_are_rows_whether_nested_or_flat(data: Any) -> None:
    request = {"inputs": [tensor("age", [2, 1], [30, 40]), tensor("town", [2], ["Bern", "Genf"])]}
    response = {"model_name": "risk", "outputs": [tensor("probs", [2, 2], data)]}
    assert rows(request, response) == [
        {"x_age": 30, "x_town": "Bern", "p_probs_0": 0.9, "p_probs_1": 0.1},
        {"x_age": 40, "x_town": "Genf", "p_probs_0": 0.4, "p_probs_1": 0.6},
    ]


def test_pictures_and_documents_are_left_out_and_their_answers_kept() -> None:
    picture = [[[0.5] * 3] * 16] * 16
    answer = {"predictions": [[0.25, 0.75]]}
    assert rows({"instances": [picture]}, answer) == [{"p_0": 0.25, "p_1": 0.75}]
    for text in ("long" * 100, "two\nlines"):
        assert rows({"instances": [{"text": text}]}, answer) == [{"p_0": 0.25, "p_1": 0.75}]


ASKED, ANSWERED = {"instances": [[1], [2]]}, {"predictions": [[0.5], [0.5]]}


@pytest.mark.parametrize(
    ("request_", "response", "sentence"),
    [
        (ASKED, {"predictions": [[0.5]]}, "2 samples were asked about, and 1 are answered"),
        (ASKED, {"predictions": [[0.5], [0.5, 0.5]]}, "the 'predictions' differ in form"),
        (ASKED, {"predictions": []}, "are none"),
        (ASKED, {"error": "away"}, "neither a list of 'predictions' nor one of 'outputs'"),
        ([], ANSWERED, "is no JSON object"),
        (ASKED, {"predictions": ["a\x1b[2J", "b"]}, "cannot be printed"),
        (ASKED, {"predictions": [[0.5] * 2049] * 2}, "more than 2048 values"),
        (ASKED, {"outputs": [tensor("p", [3], [0.5, 0.5])]}, "the tensor 'p' do not have its shape"),
        (ASKED, {"outputs": [tensor("p", [], 0.5)]}, "the tensor 'p' do not have its shape"),
        (ASKED, {"outputs": [{"name": "p", "shape": [2]}]}, "a tensor has no 'name' or no 'data'"),
        (
            ASKED,
            {"outputs": [tensor("p", [2], [0.5, 0.5]), tensor("q", [1], [1])]},
            "a tensor has 1 entries, another 2",
        ),
        ({"instances": [[[[[[[[[[[1]]]]]]]]]]]}, ANSWERED, "more than 8 lists"),
    ],
)
def test_what_gives_no_rows_is_refused(request_: Any, response: Any, sentence: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        rows(request_, response)
    assert sentence in refused.value.detail


SAMPLES = st.lists(JSON, max_size=3)
TENSORS = st.lists(
    st.fixed_dictionaries(
        {"name": st.text(max_size=4), "data": JSON, "shape": st.lists(st.integers(-1, 3), max_size=3)}
    ),
    max_size=2,
)


@given(
    asked=st.fixed_dictionaries({}, optional={"instances": SAMPLES, "inputs": TENSORS}),
    answered=st.fixed_dictionaries({}, optional={"predictions": SAMPLES, "outputs": TENSORS}) | JSON,
)
def test_any_log_gives_rows_of_one_form_or_is_refused(asked: Any, answered: Any) -> None:
    with contextlib.suppress(InvalidInput, MalformedBody):
        written = rows(asked, answered)
        assert written
        assert all(row.keys() == written[0].keys() for row in written)
        assert all(name.startswith(("x", "p")) and name.isprintable() for name in written[0])
