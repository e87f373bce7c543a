"""Rows, series and vectors over HTTP: every encoding gives the same values, and nothing hostile gets past."""

from __future__ import annotations

import contextlib
import io
import re
import struct
from typing import Any

import numpy as np
import orjson
import pytest
import soundfile
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from numpy.typing import NDArray

from leakrange.wire.codecs import decoding_size, sample_steps
from leakrange.wire.errors import BodyTooLarge, InvalidInput, LeakrangeError, MalformedBody, UnsupportedMedia
from leakrange.wire.numbers import finish
from leakrange.wire.pairs import sample_marks
from leakrange.wire.rows import CSV
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import JSON, NPY, encode_npy, to_text
from tests.reading import count_pairs, count_samples, decode_pairs, decode_samples
from tests.wire.test_pictures import multipart

MOST = 4
WAV = "audio/wav"
TABLE = SampleSpec(encoding="table", shape=(3,), dtype="float32", columns=("age", "capital-gain", "hours"))
VECTOR = SampleSpec(encoding="vector", shape=(2,), dtype="uint8")
SOUND = SampleSpec(encoding="series", shape=(5, 2), dtype="float32", rate=8000.0)
MOTION = SampleSpec(encoding="series", shape=(5, 2), dtype="float32", rate=32.0)
SPECS = {"table": TABLE, "vector": VECTOR, "sound": SOUND, "motion": MOTION}
numbers = st.floats(width=32, allow_nan=False, allow_infinity=False)


def as_json(array: NDArray[Any], name: str = "inputs") -> bytes:
    return orjson.dumps({name: array.tolist()})


def as_csv(rows: NDArray[Any], columns: tuple[str, ...], end: str = "\n") -> bytes:
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows.tolist())]
    return (end.join(lines) + end).encode()


def as_wav(values: NDArray[Any], rate: int = 8000, subtype: str = "FLOAT", kind: str = "WAV") -> bytes:
    stream = io.BytesIO()
    soundfile.write(stream, values, rate, subtype=subtype, format=kind)
    return stream.getvalue()


def batches(spec: SampleSpec, elements: st.SearchStrategy[float]) -> st.SearchStrategy[NDArray[Any]]:
    return st.integers(1, 3).flatmap(
        lambda count: some.arrays(np.float32, (count, *spec.shape), elements=elements)
    )


@settings(deadline=None)
@given(batches(TABLE, numbers))
@example(np.array([[-0.0, 0.0, 1.0]], np.float32))
def test_every_encoding_of_rows_gives_the_same_values(rows: NDArray[np.float32]) -> None:
    columns = TABLE.columns
    assert columns is not None
    bodies = [
        (NPY, encode_npy(rows)),
        (NPY, encode_npy(np.asfortranarray(rows.astype(">f8")))),
        (JSON, as_json(rows)),
        (CSV, as_csv(rows, columns)),
        (CSV + "; charset=utf-8", b"\xef\xbb\xbf" + as_csv(rows, columns, "\r\n")),
        (CSV, as_csv(rows[:, ::-1], tuple(f'"{name}"' for name in columns[::-1])).rstrip()),
    ]
    decoded = [decode_samples(kind, body, spec=TABLE, most=MOST) for kind, body in bodies]
    assert [count_samples(kind, body, most=MOST) for kind, body in bodies] == [len(rows)] * len(bodies)
    for values in decoded:
        assert values.dtype == np.float32
        np.testing.assert_array_equal(values, rows)
        assert sample_marks(values) == sample_marks(rows + np.float32(0))  # minus zero is zero


@settings(deadline=None)
@given(batches(SOUND, st.floats(-1, 1, width=32)))
def test_every_encoding_of_a_recording_gives_the_same_values(sounds: NDArray[np.float32]) -> None:
    bodies = [
        (NPY, encode_npy(sounds)),
        (JSON, as_json(sounds)),
        multipart([as_wav(each) for each in sounds]),
    ]
    if len(sounds) == 1:
        bodies.append((WAV, as_wav(sounds[0])))
    for kind, body in bodies:
        assert count_samples(kind, body, most=MOST) == len(sounds)
        np.testing.assert_array_equal(decode_samples(kind, body, spec=SOUND, most=MOST), sounds)


@pytest.mark.parametrize(("subtype", "step"), [("PCM_U8", 2**-7), ("PCM_16", 2**-15), ("PCM_24", 2**-23)])
def test_whole_numbers_of_a_recording_are_shares_of_the_loudest(subtype: str, step: float) -> None:
    sound = np.linspace(-1, 1 - 2 * step, 10, dtype=np.float32).reshape(5, 2)
    decoded = decode_samples(WAV, as_wav(sound, subtype=subtype), spec=SOUND, most=MOST)
    assert np.abs(decoded[0] - sound).max() <= step


@pytest.mark.parametrize("body", [b"1,0\n7,200\n0,255", b"0,1\n200,7\n255,0\n\r\n"])
def test_a_vector_of_bytes_is_whole_numbers_or_shares(body: bytes) -> None:
    wanted = [[200, 7], [255, 0]]
    assert decode_samples(CSV, body, spec=VECTOR, most=MOST).tolist() == wanted
    shares = as_csv(np.array(wanted) / 255, ("0", "1"))
    assert decode_samples(CSV, shares, spec=VECTOR, most=MOST).tolist() == wanted
    assert decode_samples(JSON, as_json(np.array(wanted)), spec=VECTOR, most=MOST).tolist() == wanted


@settings(deadline=None)
@given(batches(TABLE, numbers))
def test_pairs_are_of_any_encoding(rows: NDArray[np.float32]) -> None:
    pairs = np.stack([rows, rows[:, ::-1]], axis=1)
    assert TABLE.columns is not None
    for kind, body in (
        (NPY, encode_npy(pairs)),
        (JSON, as_json(pairs, "pairs")),
        (CSV, as_csv(pairs.reshape(-1, 3), TABLE.columns)),
    ):
        assert count_pairs(kind, body, most=MOST) == len(pairs)
        np.testing.assert_array_equal(decode_pairs(kind, body, spec=TABLE, most=MOST), pairs)
    with pytest.raises(InvalidInput, match="are no pairs"):
        decode_pairs(CSV, as_csv(pairs.reshape(-1, 3)[1:], TABLE.columns), spec=TABLE, most=MOST)


def test_pairs_of_recordings_are_files_two_by_two() -> None:
    sounds = np.linspace(-1, 1, 40, dtype=np.float32).reshape(4, 5, 2)
    kind, body = multipart([as_wav(each) for each in sounds])
    pairs = decode_pairs(kind, body, spec=SOUND, most=2)
    np.testing.assert_array_equal(pairs, sounds.reshape(2, 2, 5, 2))
    with pytest.raises(BodyTooLarge):
        count_pairs(kind, body, most=1)


def test_rows_are_read_in_pieces() -> None:
    rows = np.arange(30_000, dtype=np.float32).reshape(-1, 3)
    assert TABLE.columns is not None
    body = as_csv(rows, TABLE.columns)
    assert len(body) > 100_000
    np.testing.assert_array_equal(decode_samples(CSV, body, spec=TABLE, most=10_000), rows)
    wide = SampleSpec(encoding="vector", shape=(30_000,), dtype="float32")
    body = as_csv(rows.reshape(1, -1), tuple(map(str, range(30_000))))
    np.testing.assert_array_equal(decode_samples(CSV, body, spec=wide, most=1)[0], rows.ravel())


HEADER = b"age,capital-gain,hours\n"
QUIET = np.zeros((5, 2), np.float32)
CHUNK = struct.pack("<4sI", b"LIST", 0)
BAD: dict[str, tuple[str, str, bytes, type[LeakrangeError], str]] = {
    "one row as npy": ("table", NPY, encode_npy(np.zeros(3)), InvalidInput, "batch of one"),
    "wrong width": ("table", NPY, encode_npy(np.zeros((1, 4))), InvalidInput, r"\(B, 3\)"),
    "NaN": ("table", NPY, encode_npy(np.full((1, 3), np.nan)), InvalidInput, "finite"),
    "too large a float": ("table", JSON, b'{"inputs": [[1e39, 0, 0]]}', InvalidInput, "32 bit"),
    "none": ("table", CSV, HEADER, InvalidInput, "no samples"),
    "nothing": ("table", CSV, b"", InvalidInput, "no samples"),
    "too many rows": ("table", CSV, HEADER + b"1,2,3\n" * 5, BodyTooLarge, "5 samples"),
    "another column": (
        "table",
        CSV,
        b"age,x,hours\n1,2,3",
        InvalidInput,
        "missing: 'capital-gain'",
    ),
    "a column twice": ("table", CSV, b"age,age,capital-gain,hours\n1,2,3,4", InvalidInput, "once each"),
    "no header": ("table", CSV, b"1,2,3\n4,5,6", InvalidInput, "must name the model's 3 columns"),
    "header of bytes": ("table", CSV, b"\xff\xfe,,\n1", MalformedBody, "UTF-8"),
    "a short row": ("table", CSV, HEADER + b"1,2,3\n1,2\n", InvalidInput, "row 2 has 2 values"),
    "a blank row": ("table", CSV, HEADER + b"\n1,2,3\n", InvalidInput, "row 1 has 1 values"),
    "a word": ("table", CSV, HEADER + b"1,two,3", InvalidInput, "row 1 holds something that is no number"),
    "an empty field": ("table", CSV, HEADER + b"1,,3", InvalidInput, "no field empty"),
    "a long number": ("table", CSV, HEADER + b"1," + b"9" * 400 + b",3", InvalidInput, "finite"),
    "not a number": ("table", CSV, HEADER + b"1,nan,3", InvalidInput, "finite"),
    "infinity": ("table", CSV, HEADER + b"1,inf,3", InvalidInput, "finite"),
    "a row without end": ("table", CSV, HEADER + b"1," * 600_000, BodyTooLarge, "row of more than"),
    "a header without end": ("table", CSV, b"a" * 1_100_000 + b"\n1,2,3", BodyTooLarge, "row of more than"),
    "a row as WAV": ("table", WAV, as_wav(QUIET), UnsupportedMedia, "text/csv"),
    "nan in a byte": ("vector", CSV, b"0,1\nnan,1", InvalidInput, "0..255"),
    "256": ("vector", CSV, b"0,1\n256,1", InvalidInput, "0..255"),
    "one field too many, one too few": ("table", CSV, HEADER + b"1,2,3,4\n5,6", InvalidInput, "row 1 has 4"),
    "a blank beside a number": ("table", CSV, HEADER + b"1 2,3,", InvalidInput, "row 1 holds"),
    "an underscore": ("table", CSV, HEADER + b"1,2,3\n1_0,2,3", InvalidInput, "row 2 holds"),
    "endless": ("vector", CSV, b"0,1\n1" + b"0" * 60 + b",1", InvalidInput, "0..255"),
    "CSV of a series": ("sound", CSV, b"0,1\n1,1", UnsupportedMedia, "audio/wav"),
    "WAV of a motion": ("motion", WAV, as_wav(QUIET), UnsupportedMedia, "application/x-npy"),
    "no WAV": ("sound", WAV, b"OggS" + bytes(100), MalformedBody, "not a WAV"),
    "FLAC under a wrong name": (
        "sound",
        WAV,
        as_wav(QUIET, subtype="PCM_16", kind="FLAC"),
        MalformedBody,
        "WAV",
    ),
    "another rate": ("sound", WAV, as_wav(QUIET, 44_100), InvalidInput, "44100 Hz; the model takes 8000"),
    "too short": ("sound", WAV, as_wav(QUIET[1:]), InvalidInput, "4 steps of 2 channels"),
    "one channel": ("sound", WAV, as_wav(QUIET[:, :1]), InvalidInput, "5 steps of 1 channels"),
    "packed": ("sound", WAV, as_wav(QUIET, subtype="IMA_ADPCM"), InvalidInput, "IMA_ADPCM"),
    "NaN in a WAV": ("sound", WAV, as_wav(QUIET * np.nan), InvalidInput, "finite"),
    "many chunks": ("sound", WAV, as_wav(QUIET) + CHUNK * 100, BodyTooLarge, "beside its sound"),
    "a long chunk": (
        "sound",
        WAV,
        as_wav(QUIET) + struct.pack("<4sI", b"LIST", 2**21) + bytes(2**21),
        BodyTooLarge,
        "beside its sound",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_taken_is_refused_with_what_to_do(name: str) -> None:
    spec, kind, body, error, said = BAD[name]
    with pytest.raises(LeakrangeError) as caught:
        decode_samples(kind, body, spec=SPECS[spec], most=MOST)
    assert type(caught.value) is error
    assert re.search(said, f"{caught.value.detail} {caught.value.hint}")


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_no_damaged_body_breaks_the_reader(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SPECS)))
    spec = SPECS[name]
    ones = np.ones((2, *spec.shape), spec.dtype)
    columns = spec.columns or ("0", "1")
    whole = {
        NPY: encode_npy(ones),
        JSON: as_json(ones),
        CSV: as_csv(ones.reshape(-1, len(columns)), columns),
        WAV: as_wav(np.zeros((5, 2)), subtype="PCM_16"),
    }
    kind = data.draw(st.sampled_from(sorted(whole)))
    body = bytearray(whole[kind])
    for _ in range(data.draw(st.integers(0, 6))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    sent = bytes(body[: data.draw(st.integers(0, len(body)))])
    for read in (decode_samples, decode_pairs):
        with contextlib.suppress(LeakrangeError):
            values = read(kind, sent, spec=spec, most=MOST)
            assert np.isfinite(values).all()
            assert values.shape[-len(spec.shape) :] == spec.shape
    for count in (count_samples, count_pairs):
        with contextlib.suppress(LeakrangeError):
            assert 1 <= count(kind, sent, most=MOST) <= MOST


@settings(deadline=None)
@given(st.sampled_from(sorted(SPECS)), st.sampled_from([NPY, JSON, CSV, WAV]), st.binary(max_size=300))
def test_no_bytes_break_the_reader(name: str, kind: str, body: bytes) -> None:
    for start in (b"", HEADER, b"0,1\n", as_wav(QUIET)[:60]):
        with contextlib.suppress(LeakrangeError):
            decode_samples(kind, start + body, spec=SPECS[name], most=MOST)


def test_bytes_that_fit_are_read_where_they_are() -> None:
    spec = SampleSpec.picture(4, 5, 3)
    samples = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
    body = encode_npy(samples)
    found = finish(sample_steps(NPY, body, spec=spec, most=2))
    assert np.shares_memory(found, np.frombuffer(body, np.uint8))
    np.testing.assert_array_equal(found, samples)
    turned = io.BytesIO()
    np.save(turned, np.asfortranarray(samples))
    np.testing.assert_array_equal(finish(sample_steps(NPY, turned.getvalue(), spec=spec, most=2)), samples)


def test_a_small_file_of_a_large_picture_counts_as_what_it_holds() -> None:
    spec = SampleSpec.picture(300, 200, 3)
    assert decoding_size("image/png", b"x" * 90, spec) == 180_000
    assert decoding_size("text/csv", b"x" * 90, spec) == 90
    parts = b"--b\r\n\r\npicture\r\n--b\r\n\r\npicture\r\n--b--\r\n"
    assert decoding_size("multipart/form-data; boundary=b", parts, spec) == 2 * 180_000


@pytest.mark.parametrize(
    ("dtype", "spec", "decoded"),
    [(np.uint8, "uint8", False), (np.float32, "uint8", True), (np.uint8, "float32", True)],
)
def test_only_bytes_that_are_taken_as_they_are_need_no_decoding(
    dtype: type, spec: str, decoded: bool
) -> None:
    body = encode_npy(np.zeros((90, 2), dtype))
    assert decoding_size(NPY, body, VECTOR.model_copy(update={"dtype": spec})) == (
        len(body) if decoded else 0
    )
    if spec == dtype.__name__:
        turned = io.BytesIO()
        np.save(turned, np.zeros((90, 2), dtype, order="F"))
        assert decoding_size(NPY, turned.getvalue(), VECTOR) == len(body)


def in_base64(samples: NDArray[Any]) -> bytes:
    return orjson.dumps({"inputs": to_text(samples)})


def test_json_may_hold_an_npy_file_in_base64() -> None:
    samples = np.arange(8, dtype=np.uint8).reshape(4, 2)
    body = in_base64(samples)
    np.testing.assert_array_equal(decode_samples(JSON, body, spec=VECTOR, most=MOST), samples)
    np.testing.assert_array_equal(
        decode_samples(JSON, b" \n" + body[:-1] + b" } ", spec=VECTOR, most=MOST), samples
    )
    assert count_samples(JSON, body, most=MOST) == 4
    shares = samples.astype(np.float64) / 255
    np.testing.assert_array_equal(decode_samples(JSON, in_base64(shares), spec=VECTOR, most=MOST), samples)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"inputs": ""}', MalformedBody),
        (b'{"inputs": "k05V"}', MalformedBody),
        (b'{"inputs": "&&&&"}', MalformedBody),
        (in_base64(np.zeros((1, 2), np.uint8))[:-1], MalformedBody),
        (in_base64(np.zeros((1, 2), np.uint8))[:-1] + b', "more": 1}', MalformedBody),
        (in_base64(np.zeros((1, 2), np.uint8)) + b" " * 300, MalformedBody),
        (in_base64(np.zeros((1, 3), np.uint8)), InvalidInput),
        (in_base64(np.zeros((0, 2), np.uint8)), InvalidInput),
        (in_base64(np.zeros((MOST + 1, 2), np.uint8)), BodyTooLarge),
    ],
)
def test_base64_that_holds_no_samples_is_refused(body: bytes, error: type[LeakrangeError]) -> None:
    with pytest.raises(error):
        decode_samples(JSON, body, spec=VECTOR, most=MOST)
