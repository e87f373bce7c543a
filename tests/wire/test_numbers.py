"""Numbers in JSON are read piece by piece, and come out as a parser of the whole would give them."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from numpy.typing import NDArray

from leakrange.wire import numbers
from leakrange.wire.errors import BodyTooLarge, InvalidInput, LeakrangeError, MalformedBody
from leakrange.wire.numbers import finish, list_shape, read_list


def take(found: NDArray[Any], into: NDArray[Any]) -> None:
    into[:] = found


def read(body: bytes, **how: Any) -> tuple[NDArray[np.float64], str]:
    array, text = finish(read_list(body, "inputs", take, dtype=np.float64, **how))
    if "text" not in how:
        assert finish(list_shape(body, "inputs")) == array.shape
    return array, text


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "PIECE", 48)


arrays = some.arrays(
    dtype=st.sampled_from([np.int64, np.uint8, np.float64]),
    shape=some.array_shapes(max_dims=5, max_side=4),
    elements={"min_value": 0, "max_value": 255},
)


@given(arrays, st.booleans())
def test_lists_of_any_depth_survive(array: NDArray[Any], indented: bool) -> None:
    body = orjson.dumps({"inputs": array.tolist()}, option=orjson.OPT_INDENT_2 if indented else None)
    for piece in (48 + 2 * array.ndim * 24 * indented, 32_768):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(numbers, "PIECE", piece)
            np.testing.assert_array_equal(read(body)[0], array)


@given(
    st.recursive(
        st.integers(-9, 99) | st.floats(0, 1) | st.sampled_from([None, True, "a", {}]),
        lambda inner: st.lists(inner, max_size=3),
        max_leaves=12,
    ),
    st.sampled_from([48, 32_768]),
)
def test_what_is_no_array_is_refused_and_what_is_one_is_read(value: Any, piece: int) -> None:
    body = orjson.dumps({"inputs": value})
    try:
        wanted = np.array(value)
    except ValueError:
        wanted = np.array(None)
    fits = isinstance(value, list) and wanted.size > 0 and wanted.dtype.kind in "uif"
    fits = fits and b"true" not in body
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbers, "PIECE", piece)
        if fits:
            np.testing.assert_array_equal(read(body)[0], wanted)
        else:
            with pytest.raises((InvalidInput, MalformedBody)):
                read(body)


@given(st.integers(0, 40), st.sampled_from(list(b'[],.-e0 \n"}')), st.booleans())
def test_one_wrong_letter_never_passes_for_another_body(place: int, letter: int, instead: bool) -> None:
    """The reader agrees with a parser of the whole on what is JSON, wherever it is cut."""
    body = bytearray(b'{"inputs": [[[1, 2], [30, 4]], [[5, 6], [7, 8.5]]]}')
    body[place : place + instead] = bytes([letter])
    try:
        whole = orjson.loads(body)
        wanted = np.array(whole["inputs"]) if set(whole) == {"inputs"} else None
    except (orjson.JSONDecodeError, ValueError, TypeError, KeyError):
        wanted = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbers, "PIECE", 16)
        try:
            found = read(bytes(body))[0]
        except LeakrangeError:
            assert wanted is None or wanted.dtype.kind not in "uif" or wanted.size == 0 or wanted.ndim == 0
        else:
            assert wanted is not None
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(
    "body",
    [
        b'{"release": "logits", "inputs": [[1, 2], [3, 4.5]]}',
        b'{"inputs": [[1, 2], [3, 4.5]] , "release": "logi\\u0074s"}\n',
    ],
)
def test_a_text_may_stand_beside_the_numbers(body: bytes) -> None:
    array, text = read(body, text="release")
    assert (array.tolist(), text) == ([[1, 2], [3, 4.5]], "logits")


LONG = b"1," * 40_000 + b"1"
"""More than two pieces."""


@pytest.mark.parametrize(
    ("body", "error", "said"),
    [
        (b'{"inputs": ' + b"[" * 65 + LONG + b"]" * 65 + b"}", MalformedBody, "deeper than 64"),
        (b'{"inputs": ' + b"[" * 10**6, MalformedBody, "deeper than 64"),
        (b'{"inputs": [' + LONG + b",[1]]}", InvalidInput, "depth"),
        (b'{"inputs": [[' + LONG + b"],[1]]}", InvalidInput, "length"),
        (b'{"inputs": [[1,' + LONG + b"],1,[" + LONG + b"]]}", InvalidInput, "depth"),
        (b'{"inputs": [' + LONG + b",[]]}", InvalidInput, "empty list"),
        (b'{"inputs": [' + LONG + b',"1"]}', InvalidInput, "numbers only"),
        (b'{"inputs": [' + LONG + b",{}]}", InvalidInput, "numbers only"),
        (b'{"inputs": [' + LONG + b",true]}", InvalidInput, "numbers only"),
        (b'{"inputs": [' + LONG + b",]}", MalformedBody, "comma"),
        (b'{"inputs": [[' + LONG + b"][," + LONG + b"]]}", MalformedBody, "comma"),
        (b'{"inputs": [' + LONG + b",,1]}", MalformedBody, "no number"),
        (b'{"inputs": [' + LONG + b",01]}", MalformedBody, "no number"),
        (b'{"inputs": [' + LONG, MalformedBody, "ends before"),
        (b'{"inputs": [' + LONG + b"]", InvalidInput, "nothing else"),
        (b'{"inputs": [' + LONG + b"]}}", MalformedBody, "follows its end"),
        (b'{"inputs": [' + LONG + b'], "inputs": [1]}', InvalidInput, "nothing else"),
        (b'{"inputs": "' + LONG + b'"}', InvalidInput, "must be a list"),
        (b'{"' + LONG + b'": [1]}', InvalidInput, "nothing else"),
        (b'{"inputs": [1' + b" " * 100_000 + b"]}", MalformedBody, "blank"),
        (b'{"inputs": [' + b"1" * 100_000 + b"]}", MalformedBody, "number"),
    ],
    ids=lambda value: repr(value)[:40] + repr(value)[-20:],
)
def test_a_large_body_is_refused_with_what_is_wrong(
    body: bytes, error: type[LeakrangeError], said: str
) -> None:
    with pytest.raises(error, match=said):
        read(body)
    if said != "no number":  # which are not looked at where they are merely counted
        with pytest.raises(error, match=said):
            finish(list_shape(body, "inputs"))


def test_numbers_are_capped() -> None:
    with pytest.raises(BodyTooLarge, match="more than 80000 numbers"):
        read(b'{"inputs": [' + LONG + b",1" * 40_000 + b"]}", most=80_000)


@pytest.mark.parametrize("element", [b"1", b"0.1", b"[1]", b"[[[1]]]", b"[]", b"{}", b'"a"'])
def test_reading_takes_less_memory_than_the_text(element: bytes) -> None:
    body = b'{"inputs": [' + b",".join([element] * (2_000_000 // len(element))) + b"]}"
    tracemalloc.start()
    try:
        finish(read_list(body, "inputs", lambda _found, _into: None, dtype=np.uint8))
    except InvalidInput:
        assert element in (b"[]", b"{}", b'"a"')
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # the array itself has a byte for a number, which takes two at least in the text; beside it, some pieces
    assert most < len(body) / 2 + 80 * numbers.PIECE
