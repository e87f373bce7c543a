from __future__ import annotations

import contextlib
import io
import struct
import warnings
import zlib
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as some
from numpy.typing import NDArray
from PIL import Image

from leakrange.wire.errors import BodyTooLarge, InvalidInput, LeakrangeError, MalformedBody, UnsupportedMedia
from leakrange.wire.samples import SampleSpec
from leakrange.wire.tensors import JSON, NPY, encode_npy
from tests.reading import count_samples, decode_samples

MOST = 4
SMALL = SampleSpec.picture(2, 2, 1)
pictures = some.arrays(
    dtype=np.uint8,
    shape=st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 6), st.sampled_from([1, 3])),
)


def file(image: NDArray[np.uint8], kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image).save(stream, kind)
    return stream.getvalue()


def multipart(files: list[bytes], boundary: str = "b0undary") -> tuple[str, bytes]:
    body = b"".join(
        b'--%b\r\nContent-Disposition: form-data; name="files"; filename="%d.png"\r\n\r\n%b\r\n'
        % (boundary.encode(), number, content)
        for number, content in enumerate(files)
    )
    return f"multipart/form-data; boundary={boundary}", body + f"--{boundary}--\r\n".encode()


def as_json(array: NDArray[Any]) -> bytes:
    return orjson.dumps({"inputs": array.tolist()})


@settings(deadline=None)
@given(pictures)
def test_every_encoding_gives_the_same_pixels(images: NDArray[np.uint8]) -> None:
    spec = SampleSpec.picture(*images.shape[1:])
    floats = images.astype(np.float32) / np.float32(255)
    bodies = [
        (NPY, encode_npy(images)),
        (NPY, encode_npy(floats)),
        (NPY, encode_npy(images.astype(np.float64) / 255)),
        (NPY, encode_npy(images.astype(np.int64))),
        (JSON, as_json(images)),
        (JSON, orjson.dumps({"inputs": floats}, option=orjson.OPT_SERIALIZE_NUMPY)),
        multipart([file(image) for image in images]),
    ]
    if len(images) == 1:
        bodies.append(("image/png", file(images[0])))
    for content_type, body in bodies:
        assert count_samples(content_type, body, most=MOST) == len(images)
        decoded = decode_samples(content_type, body, spec=spec, most=MOST)
        assert decoded.dtype == np.uint8
        np.testing.assert_array_equal(decoded, images)


def test_pictures_are_converted_to_the_models_channels() -> None:
    red = np.zeros((4, 4, 3), np.uint8)
    red[..., 0] = 255
    grey = decode_samples("image/png", file(red), spec=SampleSpec.picture(4, 4, 1), most=MOST)
    assert grey.shape == (1, 4, 4, 1)
    assert set(grey.ravel().tolist()) == {76}  # ITU-R 601: 0.299 * 255
    back = decode_samples("image/png", file(grey[0]), spec=SampleSpec.picture(4, 4, 3), most=MOST)
    assert back.shape == (1, 4, 4, 3)
    jpeg = decode_samples("image/jpeg; x=y", file(red, "JPEG"), spec=SampleSpec.picture(4, 4, 3), most=MOST)
    np.testing.assert_allclose(jpeg[0].astype(int), red, atol=3)


def test_two_channels_are_grey_and_alpha_for_a_model_that_has_two() -> None:
    points = np.array([[[[0, 255]]], [[[134, 0]]], [[[7, 9]]]], np.uint8)
    bodies = [(NPY, encode_npy(points)), (JSON, as_json(points)), multipart([file(each) for each in points])]
    for content_type, body in bodies:
        decoded = decode_samples(content_type, body, spec=SampleSpec.picture(1, 1, 2), most=MOST)
        np.testing.assert_array_equal(decoded, points)
    # for a model of pictures, alpha is nothing but transparency
    grey = SampleSpec.picture(1, 1, 1)
    assert decode_samples("image/png", file(points[0]), spec=grey, most=MOST).shape == (1, 1, 1, 1)


def bomb(width: int, height: int) -> bytes:
    """A small PNG file that declares, and would decompress to, a huge picture."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    data = zlib.compress(b"\0" * 100_000, 9)
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("width", "height"), [(2049, 2048), (10_000, 10_000), (60_000, 60_000), (2**31 - 1, 2**31 - 1)]
)
def test_a_picture_bomb_is_too_large_before_it_is_decompressed(width: int, height: int) -> None:
    with pytest.raises(BodyTooLarge) as refused:
        decode_samples("image/png", bomb(width, height), spec=SampleSpec.picture(8, 8, 1), most=MOST)
    assert "4194304" in refused.value.detail


def part(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


PNG = file(np.zeros((2, 2, 1), np.uint8))
JPG = file(np.zeros((2, 2, 1), np.uint8), "JPEG")


@pytest.mark.parametrize(
    ("kind", "start", "more", "few", "many"),
    [
        ("png", 33, part(b"tEXt", b"a\0b"), 9, 17),
        ("png", 33, part(b"zTXt", b"a\0\0" + zlib.compress(bytes(10**6))), 9, 17),
        ("png", 33, part(b"iTXt", b"a\0\0\0\0\0b"), 9, 17),
        ("png", 33, part(b"tEXt", b"a\0" + bytes(2**18)), 3, 4),
        ("png", 33, part(b"IDAT", b""), 0, 4096),
        ("jpeg", 2, b"\xff\xfe\0\2", 9, 256),
        ("jpeg", 2, b"\xff\xfe\xff\xff" + bytes(65533), 9, 17),
        ("jpeg", 2, b"\xff", 9, 256),
        ("jpeg", -2, b"\xff\xda", 0, 256),
    ],
    ids=["tEXt", "zTXt", "iTXt", "long tEXt", "IDAT", "COM", "long COM", "filling", "scans"],
)
def test_a_picture_of_texts_is_refused_before_it_is_opened(
    monkeypatch: pytest.MonkeyPatch, kind: str, start: int, more: bytes, few: int, many: int
) -> None:
    picture = {"png": PNG, "jpeg": JPG}[kind]
    honest = picture[:start] + more * few + picture[start:]
    assert decode_samples(f"image/{kind}", honest, spec=SMALL, most=MOST).shape == (1, 2, 2, 1)
    monkeypatch.setattr(Image, "open", None)
    stuffed = picture[:start] + more * many + picture[start:]
    with pytest.raises(BodyTooLarge, match="beside its pixels"):
        decode_samples(f"image/{kind}", stuffed, spec=SMALL, most=MOST)


def refused(content_type: str | None, body: bytes) -> str:
    with pytest.raises(LeakrangeError) as caught:
        decode_samples(content_type, body, spec=SMALL, most=MOST)
    return type(caught.value).__name__


ok = np.zeros((1, 2, 2, 1), np.uint8)
nan = np.full((1, 2, 2, 1), np.nan, np.float32)


@pytest.mark.parametrize(
    ("content_type", "body", "error"),
    [
        (None, encode_npy(ok), UnsupportedMedia),
        ("text/plain", b"x", UnsupportedMedia),
        ("image/gif", b"GIF89a", UnsupportedMedia),
        (NPY, b"", MalformedBody),
        (NPY, encode_npy(nan), InvalidInput),
        (NPY, encode_npy(nan * 0 + np.inf), InvalidInput),
        (NPY, encode_npy(ok + np.float32(1.001)), InvalidInput),
        (NPY, encode_npy(ok - np.float32(0.001)), InvalidInput),
        (NPY, encode_npy(ok.astype(np.int16) + 256), InvalidInput),
        (NPY, encode_npy(ok.astype(np.int16) - 1), InvalidInput),
        (NPY, encode_npy(np.zeros((1, 2, 3, 1), np.uint8)), InvalidInput),
        (NPY, encode_npy(np.zeros((1, 2, 2, 3), np.uint8)), InvalidInput),
        (NPY, encode_npy(np.zeros((0, 2, 2, 1), np.uint8)), InvalidInput),
        (NPY, encode_npy(np.zeros((4,), np.uint8)), InvalidInput),
        (NPY, encode_npy(ok[0]), InvalidInput),
        (JSON, as_json(ok[0]), InvalidInput),
        (NPY, encode_npy(np.array(1.0)), InvalidInput),
        (NPY, encode_npy(np.zeros((5, 2, 2, 1), np.uint8)), BodyTooLarge),
        ("text/csv", b"0,1\n1,2", UnsupportedMedia),
        ("audio/wav", b"RIFF", UnsupportedMedia),
        (JSON, b"{", MalformedBody),
        (JSON, b"[]", InvalidInput),
        (JSON, b"{}", InvalidInput),
        (JSON, b'{"inputs": []}', InvalidInput),
        (JSON, b'{"inputs": null}', InvalidInput),
        (JSON, b'{"inputs": [[[[]]]]}', InvalidInput),
        (JSON, b'{"inputs": [[[[1], [2]], [[3]]]]}', InvalidInput),
        (JSON, b'{"inputs": [[[[true], [2]], [[3], [4]]]]}', InvalidInput),
        (JSON, b'{"inputs": [[[["1"], [2]], [[3], [4]]]]}', InvalidInput),
        (JSON, b'{"inputs": [[[[1], [2]], [[3], [4]]]], "more": 1}', InvalidInput),
        (JSON, as_json(np.zeros((5, 2, 2, 1))), BodyTooLarge),
        ("image/png", b"", MalformedBody),
        ("image/png", b"GIF89a....", MalformedBody),
        ("image/png", file(np.zeros((2, 2, 1), np.uint8))[:-30], MalformedBody),
        ("image/png", file(np.zeros((2, 3, 1), np.uint8)), InvalidInput),
        ("multipart/form-data", b"--x--", MalformedBody),
        ("multipart/form-data; boundary=x", b"", MalformedBody),
        ("multipart/form-data; boundary=x", b"--x--\r\n", InvalidInput),
        ("multipart/form-data; boundary=x", b"--y\r\n\r\n--y--", MalformedBody),
        (*multipart([file(np.zeros((2, 2, 1), np.uint8))] * 5), BodyTooLarge),
        (*multipart([b"no picture"]), MalformedBody),
        (*multipart([PNG], boundary="b" * 257), MalformedBody),
    ],
    ids=lambda value: repr(value)[:50],
)
def test_what_cannot_be_taken_is_refused_by_its_name(
    content_type: str | None, body: bytes, error: type[LeakrangeError]
) -> None:
    assert refused(content_type, body) == error.__name__


def test_pictures_of_different_sizes_are_not_one_batch() -> None:
    body = multipart([file(np.zeros((2, side, 1), np.uint8)) for side in (2, 3)])
    assert refused(*body) == "InvalidInput"


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@settings(deadline=None)
@given(data=st.data())
def test_no_damaged_picture_breaks_the_reader(kind: str, data: st.DataObject) -> None:
    body = bytearray(file(np.arange(192, dtype=np.uint8).reshape(8, 8, 3), kind))
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(body) - 1))
        body[place] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(body)))
    with warnings.catch_warnings():
        # Pillow warns of some damage, which a service only logs.
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        for content_type, sent in ((f"image/{kind.lower()}", bytes(body[:cut])), multipart([bytes(body)])):
            with contextlib.suppress(MalformedBody, InvalidInput, BodyTooLarge):
                decode_samples(content_type, sent, spec=SampleSpec.picture(8, 8, 3), most=MOST)


@settings(deadline=None)
@given(st.text(max_size=30), st.binary(max_size=200))
def test_no_multipart_breaks_the_reader(parameters: str, body: bytes) -> None:
    for content_type in (
        f"multipart/form-data; {parameters}",
        f'multipart/form-data; boundary="{parameters}"',
    ):
        with pytest.raises(LeakrangeError):
            decode_samples(content_type, body, spec=SMALL, most=MOST)


@settings(deadline=None)
@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=20)
)
def test_no_json_breaks_the_reader(value: Any) -> None:
    try:
        body = orjson.dumps({"inputs": value})
    except TypeError:  # integers beyond 64 bits, lone surrogates
        return
    in_base64 = [MalformedBody] if isinstance(value, str) else []
    with contextlib.suppress(InvalidInput, BodyTooLarge, *in_base64):
        decode_samples(JSON, body, spec=SMALL, most=MOST)
