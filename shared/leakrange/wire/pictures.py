"""Decodes PNG and JPEG files, and resizes pictures. Limits on everything besides the pixels are checked
before Pillow reads them.

Pillow reads the chunks of a PNG and the segments of a JPEG one by one in Python and keeps their texts: a
file with thirty megabytes of them took fifteen seconds. So their number and size are checked first.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from leakrange.wire.errors import BodyTooLarge, InvalidInput, MalformedBody
from leakrange.wire.samples import SampleSpec

__all__ = ["PICTURES", "png", "read_drawing", "read_picture", "resized"]

PICTURES = ("image/png", "image/jpeg")

MODES = {1: "L", 2: "LA", 3: "RGB"}
"""Pillow's mode of a picture for a model of so many channels; two are those of a PNG with grey and alpha."""
MOST_PIXELS: Final = 4_194_304
"""Height × width of a picture, as its header declares it."""
LARGEST: Final = 1024
"""Rows and columns of a drawing."""

PNG: Final = b"\x89PNG\r\n\x1a\n"
JPEG: Final = b"\xff\xd8"
MAX_PARTS: Final = 4096
"""Chunks of a PNG: enough for thirty megabytes in the usual chunks of 8 KiB."""
MAX_TEXTS: Final = 16
"""Chunks of text of a PNG, each of which may be unpacked to a megabyte."""
MAX_SEGMENTS: Final = 256
"""Segments before the pixels of a JPEG, and scans of its pixels."""
MAX_EXTRAS: Final = 1_048_576
"""Bytes beside the pixels: texts, profiles, thumbnails."""


def read_picture(file: bytes | memoryview, number: int, spec: SampleSpec) -> NDArray[np.uint8]:
    """The pixels (H, W, C) of a PNG or JPEG file, the ``number``-th of its request.

    Raises `BodyTooLarge` for more than `MOST_PIXELS` or too much beside them, `InvalidInput` for another size
    than that of ``spec``, `MalformedBody`.
    """
    rows, columns, channels = spec.shape

    def check(height: int, width: int) -> None:
        if (height, width) != (rows, columns):
            raise InvalidInput(f"picture {number} is {height} x {width}; the model takes {rows} x {columns}")

    pixels = _pixels(file, number, MODES[channels], check, "shrink the picture to the model's input size")
    return pixels.reshape(rows, columns, channels)


def read_drawing(file: bytes) -> NDArray[np.uint8]:
    """The grey levels (H, W) of a PNG or JPEG file of any size up to `LARGEST` × `LARGEST`.

    Raises `BodyTooLarge` for a larger one or too much beside the pixels, and `MalformedBody`.
    """

    def check(height: int, width: int) -> None:
        if max(height, width) > LARGEST:
            raise BodyTooLarge(
                f"the drawing is {height} x {width}; at most {LARGEST} x {LARGEST}", hint="shrink the drawing"
            )

    return _pixels(file, 0, "L", check, "shrink the drawing")


def png(picture: NDArray[np.uint8]) -> bytes:
    """A PNG file of a picture (H, W, C) of one or three channels."""
    out = io.BytesIO()
    Image.fromarray(picture[..., 0] if picture.shape[2] == 1 else picture).save(out, "PNG")
    return out.getvalue()


def resized(images: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """uint8 (N, size, size, C) from uint8 (N, H, W, C), H = W not required; the same array if it fits
    already."""
    n, height, width, channels = images.shape
    if (height, width) == (size, size):
        return images
    how = Image.Resampling.BILINEAR if size >= max(height, width) else Image.Resampling.LANCZOS
    out = np.empty((n, size, size, channels), dtype=np.uint8)
    for i, image in enumerate(images):
        picture = Image.fromarray(image[..., 0] if channels == 1 else image)
        out[i] = np.asarray(picture.resize((size, size), how)).reshape(size, size, channels)
    return out


def _pixels(
    file: bytes | memoryview, number: int, mode: str, check: Callable[[int, int], None], hint: str
) -> NDArray[np.uint8]:
    """Return the pixels of the file in Pillow's ``mode``; ``check`` is given height and width before anything
    is decompressed."""
    _check_parts(file, number)
    data = bytes(file)
    if data.startswith(JPEG) and data.count(b"\xff\xda") > MAX_SEGMENTS:  # each is a pass over all pixels
        raise _too_much(number)
    try:
        with Image.open(io.BytesIO(data), formats=("PNG", "JPEG")) as picture:
            width, height = picture.size  # from the header: nothing is decompressed yet
            if width * height > MOST_PIXELS:
                raise BodyTooLarge(
                    f"picture {number} declares {width} x {height} pixels; at most {MOST_PIXELS} in all",
                    hint=hint,
                )
            check(height, width)
            return np.asarray(picture.convert(mode), dtype=np.uint8)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise BodyTooLarge(
            f"picture {number} declares too many pixels; at most {MOST_PIXELS} in all", hint=hint
        ) from error
    except (OSError, SyntaxError, ValueError, EOFError, struct.error, zlib.error, OverflowError) as error:
        raise MalformedBody(f"picture {number} is not a PNG or JPEG that can be read") from error


def _check_parts(file: bytes | memoryview, number: int) -> None:
    """Refuse a file that is no picture, or that holds too much beside its pixels."""
    if file[:8] == PNG:
        few = _png_is_plain(file)
    elif file[:2] == JPEG:
        few = _jpeg_is_plain(file)
    else:
        raise MalformedBody(f"picture {number} is not a PNG or JPEG that can be read")
    if not few:
        raise _too_much(number)


def _too_much(number: int) -> BodyTooLarge:
    return BodyTooLarge(
        f"picture {number} holds too much beside its pixels: texts, profiles or pieces",
        hint="save it anew without metadata",
    )


def _png_is_plain(file: bytes | memoryview) -> bool:
    place, parts, texts, extras = len(PNG), 0, 0, 0
    while place + 8 <= len(file):
        length, kind = struct.unpack_from(">I4s", file, place)
        parts += 1
        texts += kind in (b"tEXt", b"zTXt", b"iTXt")
        if kind != b"IDAT":
            extras += length
        if parts > MAX_PARTS or texts > MAX_TEXTS or extras > MAX_EXTRAS:
            return False
        if kind == b"IEND":
            break
        place += 12 + length
    return True


def _jpeg_is_plain(file: bytes | memoryview) -> bool:
    place, segments = len(JPEG), 0
    while place + 4 <= len(file) and place <= MAX_EXTRAS:
        marker, length = struct.unpack_from(">HH", file, place)
        segments += 1
        if segments > MAX_SEGMENTS:
            return False
        if marker == 0xFFDA:  # the pixels begin
            return True
        if marker == 0xFFFF:  # filling before a marker
            place += 1
        elif marker == 0xFF01 or 0xFFD0 <= marker <= 0xFFD8:  # markers that stand alone
            place += 2
        else:
            place += 2 + length
    return place <= MAX_EXTRAS
