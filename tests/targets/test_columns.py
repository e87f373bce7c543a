"""Rows in the columns that a target takes: texts for ones and zeros, fewer columns, in another order."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson
import pytest
import yaml

from leakrange.targets.columns import lacking, taken_from
from leakrange.targets.dialogue import dialogue, probe_of
from leakrange.targets.target import RemoteTarget, read_target
from leakrange.wire.errors import InvalidInput
from leakrange.wire.samples import SampleSpec

COLUMNS = ("age", "balance", "balance=missing", "land=missing", "land=France", "land=New = Caledonia", "sex")
SPEC = SampleSpec(encoding="table", shape=(7,), dtype="float32", columns=COLUMNS)
ROWS = np.array([[41, 7.5, 0, 0, 0, 1, 1], [30, 9, 1, 1, 0, 0, 0]], np.float32)


def target(columns: list[str], body: Any = "${rows}", **card: Any) -> RemoteTarget:
    step = {"post": "http://127.0.0.1:1", "json": body, "read": {"each": "$[*]", "values": "$"}}
    given = {"encoding": "table", "columns": columns, **card}
    written = {
        "name": "risk",
        "owner": "me there",
        "card": {"input": given, "classes": ["a", "b"]},
        "steps": [step],
    }
    return read_target(yaml.safe_dump(written))


def sent(which: RemoteTarget) -> Any:
    call = next(dialogue(which.of_data(["a", "b"], SPEC), ROWS))
    assert call.body is not None
    return orjson.loads(call.body)


def test_a_target_gets_the_columns_that_it_takes_with_their_texts() -> None:
    columns = ["land", "age", "sex", "balance"]
    rows = sent(target(columns, categories={"sex": ["f", "m"], "land": ["France"]}))
    assert rows == [
        {"land": "New = Caledonia", "age": 41, "sex": "m", "balance": 7.5},
        {"land": None, "age": 30, "sex": "f", "balance": None},
    ]
    assert list(rows[0]) == columns
    assert sent(target(["age", "land"], {"names": "${column_names}", "data": "${values}"})) == {
        "names": ["age", "land"],
        "data": [[41, "New = Caledonia"], [30, None]],
    }


def test_numbers_alone_are_sent_in_tensors() -> None:
    tensor = {"shape": "${shape}", "data": "${flat}", "rows": "${samples}"}
    assert sent(target(["sex", "age"], tensor)) == {
        "shape": [2, 2],
        "data": [1, 41, 0, 30],
        "rows": [[1, 41], [0, 30]],
    }
    with pytest.raises(InvalidInput, match="'land' is a text") as caught:
        sent(target(["age", "land"], tensor))
    assert "${rows}" in str(caught.value.hint)


def test_a_file_of_a_data_set_is_read_again() -> None:
    ours = target(["land", "age"]).of_data(["b", "a"], SPEC)
    assert ours.card.input.spec == SPEC
    assert RemoteTarget.model_validate(ours.model_dump(mode="json", exclude_defaults=True)) == ours
    same = target(list(COLUMNS)).of_data(["a", "b"], SPEC)
    assert same.card.input.sent is None


def test_columns_that_do_not_follow_are_named() -> None:
    assert lacking(["age", "income", "balance", "land", "la"], COLUMNS) == ["income", "la"]
    assert taken_from(COLUMNS) == {
        "age": (),
        "balance": (),
        "land": ("France", "New = Caledonia"),
        "sex": (),
    }
    with pytest.raises(InvalidInput, match="'sent' names 'income'"):
        target(["age"], sent=["income"])


def test_the_probe_of_a_file_is_a_sample_of_the_data() -> None:
    written = target(["sex", "land", "age"], categories={"sex": ["f", "m"], "land": ["Spain", "France"]})
    probed = written.model_copy(update={"probe": (1.0, 1.0, 41.0)})
    asked = probed.of_data(["a", "b"], SPEC)
    assert probe_of(asked).tolist() == [[41, 0, 0, 0, 1, 0, 1]]
    assert asked.of_data(["a", "b"], SPEC) == asked
