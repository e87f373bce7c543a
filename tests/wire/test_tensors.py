from __future__ import annotations

import contextlib
import io
import tracemalloc
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from numpy.typing import NDArray

from leakrange.wire.errors import InvalidInput, LeakrangeError, MalformedBody, NotAcceptable
from leakrange.wire.numbers import finish
from leakrange.wire.releases import upload_steps
from leakrange.wire.tensors import (
    JSON,
    NPY,
    decode_npy,
    encode_npy,
    negotiate,
    npy_header,
    numeric_array,
    parse_json,
    release_array,
)

numbers = st.one_of(
    some.integer_dtypes(endianness="?"),
    some.unsigned_integer_dtypes(endianness="?"),
    some.floating_dtypes(endianness="?", sizes=(16, 32, 64)),
)
arrays = some.arrays(dtype=numbers, shape=some.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5))


def npy(header: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    """An npy body with any header text."""
    text = header.encode("latin1") + b"\n"
    width = 2 if version == (1, 0) else 4
    return b"\x93NUMPY" + bytes(version) + len(text).to_bytes(width, "little") + text + data


def described(shape: str, descr: str = "'<f4'") -> str:
    return f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}"


@settings(deadline=None)
@given(arrays)
def test_an_array_comes_back_as_it_was(array: NDArray[Any]) -> None:
    back = decode_npy(encode_npy(array))
    assert back.dtype == array.dtype.newbyteorder("=")
    np.testing.assert_array_equal(back, array)


@settings(deadline=None)
@given(arrays, st.sampled_from([(1, 0), (2, 0)]), st.booleans())
def test_what_numpy_saves_is_read(array: NDArray[Any], version: tuple[int, int], fortran: bool) -> None:
    stream = io.BytesIO()
    written = np.array(array, order="F" if fortran else "C")
    np.lib.format.write_array(stream, written, version=version, allow_pickle=False)
    shape, dtype, _, _ = npy_header(stream.getvalue())
    assert (shape, dtype) == (array.shape, array.dtype)
    np.testing.assert_array_equal(decode_npy(stream.getvalue()), array)
    np.testing.assert_array_equal(np.load(io.BytesIO(encode_npy(array)), allow_pickle=False), array)


def test_objects_are_never_unpickled(tmp_path: Any) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return (tmp_path.joinpath("sprung").touch, ())

    stream = io.BytesIO()
    np.save(stream, np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInput) as refused:
        decode_npy(stream.getvalue())
    assert "never objects" in str(refused.value.hint)
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize(
    "dtype", ["<U3", "S4", "datetime64[s]", "complex64", "bool", "longdouble", [("a", "<f4")]]
)
def test_other_dtypes_than_numbers_are_refused(dtype: Any) -> None:
    stream = io.BytesIO()
    np.save(stream, np.zeros(2, dtype=dtype))
    with pytest.raises(LeakrangeError, match="dtype"):
        decode_npy(stream.getvalue())


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x93NUMPY",
        b"not an array",
        encode_npy(np.zeros(4, np.float32))[:-1],
        encode_npy(np.zeros(4, np.float32)) + b"x",
        npy("{("),
        npy("'''"),
        npy("["),
        npy("[" * 3000),
        npy("9" * 4090),
        npy("{'shape': (1,)}", b"\0" * 4),
        npy(described("(1L,)"), b"\0" * 4),
        npy(described("(True,)"), b"\0" * 4),
        npy(described("(-1, -1)"), b"\0" * 4),
        npy(described("(1.0,)"), b"\0" * 4),
        npy(described("(0, 1000000000000000000000000000000)")),
        npy(described("(" + "1," * 70 + ")"), b"\0" * 4),
        npy(described("(1000000, 1000000)"), b"\0" * 64),
        npy(described("(1,)"), b"\0" * 4, version=(3, 0)),
        b"\x93NUMPY\x01\x00\xff\xff" + b" " * 70000,
    ],
    ids=lambda body: repr(body[:40]),
)
def test_broken_files_are_called_broken(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        decode_npy(body)


@settings(deadline=None)
@given(arrays, st.data())
def test_no_damage_breaks_the_reader(array: NDArray[Any], data: st.DataObject) -> None:
    body = bytearray(encode_npy(array))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place] = data.draw(st.integers(0, 255))
    with contextlib.suppress(MalformedBody, InvalidInput):
        decode_npy(bytes(body))


@settings(deadline=None)
@given(st.text(alphabet="{}()[]'\",:<|f4iOdescrshapefortran_order0123456789 -LTrue\\\n", max_size=80))
@example("{(")
@example("'''")
def test_no_header_breaks_the_reader(header: str) -> None:
    with contextlib.suppress(MalformedBody, InvalidInput):
        decode_npy(npy(header, b"\0" * 4))


@settings(deadline=None)
@given(
    some.arrays(
        dtype=np.float32,
        shape=some.array_shapes(min_dims=2, max_dims=5, max_side=4),
        elements=st.floats(width=32, allow_nan=False, allow_infinity=False),
    )
)
def test_a_release_of_any_rank_survives_json_and_npy(values: NDArray[np.float32]) -> None:
    body = orjson.dumps({"values": values}, option=orjson.OPT_SERIALIZE_NUMPY)
    back = release_array(numeric_array(parse_json(body)["values"], "values"), max_samples=5)
    uploaded = orjson.dumps({"release": "sample", "values": values}, option=orjson.OPT_SERIALIZE_NUMPY)
    kind, read = finish(upload_steps(JSON, None, uploaded, max_samples=5))
    named, same = finish(upload_steps(NPY, "sample", encode_npy(values), max_samples=5))
    assert (kind, named) == ("sample", "sample")
    for array in (back, read, same):
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, values)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.zeros(3), "first axis of samples"),
        (np.zeros((0, 3)), "first axis of samples"),
        (np.zeros((3, 2, 0)), "first axis of samples"),
        (np.zeros((9, 3)), "at most 8"),
        (np.zeros((1, 1024, 1025)), "1048576"),
        (np.array([[np.nan]]), "finite"),
        (np.array([[np.inf]]), "finite"),
        (np.array([[1e300]]), "finite"),
    ],
)
def test_what_is_no_release_is_refused(values: NDArray[Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        release_array(values, max_samples=8)


@pytest.mark.parametrize(
    "value", [3, "text", {"a": 1}, None, [[1, 2], [3]], ["a"], [None, 1], [[1], 2], [True], [{}], [2**64]]
)
def test_only_rectangular_lists_of_numbers_are_arrays(value: Any) -> None:
    with pytest.raises(InvalidInput):
        numeric_array(value, "inputs")


@pytest.mark.parametrize("place", ["row", "between rows"])
def test_a_long_string_among_numbers_costs_no_memory(place: str) -> None:
    """NumPy would make each of the numbers as long as the string: ten gigabytes here."""
    row = [0.0] * 50_000
    text = "x" * 50_000
    value = [row, [text, *row[1:]]] if place == "row" else [row, text]
    tracemalloc.start()
    with pytest.raises(InvalidInput, match="numbers only"):
        numeric_array(value, "values")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10_000_000


@pytest.mark.parametrize("body", [b"", b"{", b"nul", b"[NaN]", b"[Infinity]", b"\xff", b'"\xed\xa0\x80"'])
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        parse_json(body)


@pytest.mark.parametrize("deep", [65, 1000, 100_000, 2_000_000])
def test_deep_json_is_refused_wherever_it_stands(deep: int) -> None:
    for start in (b"", b"0," * 40_000):
        body = b'{"inputs": [' + start + b"[" * deep + b"]" * deep + b"]}"
        with pytest.raises((MalformedBody, InvalidInput)):
            numeric_array(parse_json(body)["inputs"], "inputs")


def test_brackets_inside_texts_are_not_nesting() -> None:
    text = '\\"[[{' * 100
    assert parse_json(orjson.dumps({"a": text, "b": [1]})) == {"a": text, "b": [1]}


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (None, JSON),
        ("", JSON),
        ("*/*", JSON),
        ("application/*", JSON),
        (NPY, NPY),
        (f"{NPY}, {JSON}", JSON),
        (f"{NPY}, {JSON};q=0.5", NPY),
        (f"{JSON};q=0, */*", NPY),
        (f"text/html, {NPY};q=0.1", NPY),
        ("APPLICATION/JSON; charset=utf-8", JSON),
    ],
)
def test_accept_decides_the_representation(accept: str | None, chosen: str) -> None:
    assert negotiate(accept) == chosen


@pytest.mark.parametrize(
    "accept", ["text/html", "image/*", f"{JSON};q=0", "*/*;q=0", "nonsense", f"{JSON};q=x"]
)
def test_nothing_acceptable_is_said_so(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        negotiate(accept)
