from __future__ import annotations

import contextlib
import io
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from numpy.typing import NDArray

from leakrange.wire.errors import BodyTooLarge, InvalidInput, LeakrangeError, MalformedBody, UnsupportedMedia
from leakrange.wire.pairs import joint_mark, same_person, sample_marks
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import JSON, NPY, encode_npy
from tests.reading import count_pairs, decode_pairs
from tests.wire.test_pictures import file, multipart

MOST = 4
couples = some.arrays(
    dtype=np.uint8,
    shape=st.tuples(
        st.integers(1, 4), st.just(2), st.integers(1, 5), st.integers(1, 5), st.sampled_from([1, 3])
    ),
)


def as_json(pairs: NDArray[Any]) -> bytes:
    return orjson.dumps({"pairs": pairs.tolist()})


@settings(deadline=None)
@given(couples)
def test_every_encoding_gives_the_same_pairs(pairs: NDArray[np.uint8]) -> None:
    images = pairs.reshape(-1, *pairs.shape[2:])
    spec = SampleSpec.picture(*images.shape[1:])
    for kind, body in (
        (NPY, encode_npy(pairs)),
        (NPY, encode_npy(pairs.astype(np.float64) / 255)),
        (JSON, as_json(pairs)),
        (JSON, as_json(pairs / 255)),
        multipart([file(image) for image in images]),
    ):
        assert count_pairs(kind, body, most=MOST) == len(pairs)
        decoded = decode_pairs(kind, body, spec=spec, most=MOST)
        assert decoded.dtype == np.uint8
        np.testing.assert_array_equal(decoded, pairs)


def pickled() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    return stream.getvalue()


SMALL = SampleSpec.picture(3, 3, 1)
ONE = np.zeros((1, 2, 3, 3, 1), np.uint8)
PNG = file(np.zeros((3, 3, 1), np.uint8))
BAD: dict[str, tuple[str | None, bytes, type[LeakrangeError]]] = {
    "images": (NPY, encode_npy(ONE[0]), InvalidInput),
    "threes": (NPY, encode_npy(np.zeros((1, 3, 3, 3, 1), np.uint8)), InvalidInput),
    "none": (NPY, encode_npy(ONE[:0]), InvalidInput),
    "too many": (NPY, encode_npy(np.repeat(ONE, 5, axis=0)), BodyTooLarge),
    "NaN": (NPY, encode_npy(np.full(ONE.shape, np.nan)), InvalidInput),
    "objects": (NPY, pickled(), InvalidInput),
    "another size": (NPY, encode_npy(np.zeros((1, 2, 4, 4, 1), np.uint8)), InvalidInput),
    "no sides": (NPY, encode_npy(np.zeros((1, 2, 0, 3, 1), np.uint8)), InvalidInput),
    "half": (NPY, encode_npy(ONE)[:-3], MalformedBody),
    "JSON of images": (JSON, orjson.dumps({"inputs": ONE[0].tolist()}), InvalidInput),
    "JSON of one": (JSON, orjson.dumps({"pairs": ONE[:, :1].tolist()}), InvalidInput),
    "JSON of none": (JSON, b'{"pairs": []}', InvalidInput),
    "JSON of too many": (JSON, as_json(np.repeat(ONE, 5, axis=0)), BodyTooLarge),
    "ragged JSON": (JSON, b'{"pairs": [[[[[1]]], [[[1, 2]]]]]}', InvalidInput),
    "booleans": (JSON, b'{"pairs": [[[[[true]]], [[[1]]]]]}', InvalidInput),
    "more than pairs": (JSON, b'{"pairs": [], "person": "ann"}', InvalidInput),
    "an odd file": (*multipart([PNG] * 3), InvalidInput),
    "too many files": (*multipart([PNG] * 10), BodyTooLarge),
    "one picture": ("image/png", PNG, UnsupportedMedia),
    "nothing": (None, b"", UnsupportedMedia),
}


@pytest.mark.parametrize("name", BAD)
def test_what_holds_no_pairs_is_refused(name: str) -> None:
    kind, body, error = BAD[name]
    with pytest.raises(error):
        decode_pairs(kind, body, spec=SMALL, most=MOST)


@given(st.binary(max_size=60), st.sampled_from([NPY, JSON, "multipart/form-data; boundary=b"]))
def test_no_bytes_crash_it(body: bytes, kind: str) -> None:
    for start in (b"", encode_npy(ONE)[:-10], b'{"pairs": '):
        for read in (
            lambda given: count_pairs(kind, given, most=MOST),
            lambda given: decode_pairs(kind, given, spec=SMALL, most=MOST),
        ):
            with contextlib.suppress(LeakrangeError):
                read(start + body)


def test_marks_name_pixels_and_sets_of_images() -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 4, 2, 1)).astype(np.uint8)
    a, b, c = sample_marks(images)
    assert len({a, b, c}) == 3
    assert sample_marks(images[1:2]) == [b]
    assert sample_marks(np.asfortranarray(images)) == [a, b, c]
    assert sample_marks(images.reshape(3, 2, 4, 1))[0] != a  # the same bytes, another picture
    assert joint_mark([a]) == joint_mark([a, a]) == a
    assert joint_mark([a, b]) == joint_mark([b, a, b])
    assert len({joint_mark([a, b]), joint_mark([a, c]), joint_mark([a, b, c]), a, b, c}) == 6


def test_a_decision_agrees_with_the_number_that_is_shown() -> None:
    """float32(0.1) is above 0.1, and is shown as 0.1."""
    distances = np.array([[0.1], [0.2]], np.float32)
    assert same_person(distances, 0.1) == [True, False]
