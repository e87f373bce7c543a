"""The files of a multipart body, found without copying them."""

from __future__ import annotations

from typing import Final

from python_multipart.multipart import parse_options_header

from leakrange.wire.errors import BodyTooLarge, InvalidInput, MalformedBody

__all__ = ["MULTIPART", "multipart_files"]

MULTIPART = "multipart/form-data"
LONGEST_BOUNDARY: Final = 256
LONGEST_HEAD: Final = 16_384
"""Bytes of the headers of one part."""
PIECE: Final = 1_048_576


def multipart_files(content_type: str, body: bytes, *, most: int) -> list[memoryview]:
    """The file parts of a multipart body in order, as views into it; raises `MalformedBody`, `InvalidInput`
    if there is none, or `BodyTooLarge` for more than ``most``."""
    boundary = _boundary(content_type)
    view, files = memoryview(body), list[memoryview]()
    place = len(body) - len(body.lstrip(b"\r\n")) if body[:1] in (b"\r", b"\n") else 0
    if not body.startswith(boundary[2:], place):
        raise MalformedBody("the multipart body does not begin with its boundary")
    place += len(boundary) - 2
    while body[place : place + 2] == b"\r\n":
        if len(files) >= most:
            raise BodyTooLarge(f"more than {most} files in one request")
        head = body.find(b"\r\n\r\n", place, place + LONGEST_HEAD)
        end = _find(body, boundary, head + 2) if head >= 0 else -1
        if end < 0:
            raise MalformedBody("a part of the multipart body has no end")
        files.append(view[min(head + 4, end) : end])
        place = end + len(boundary)
    if body[place : place + 2] != b"--":
        raise MalformedBody("the multipart body has no end")
    if not files:
        raise InvalidInput("the multipart body holds no file")
    return files


def _find(body: bytes, wanted: bytes, begin: int) -> int:
    """Find ``wanted`` like ``body.find``, but a piece at a time, so that other threads can run."""
    for at in range(begin, len(body), PIECE):
        if (place := body.find(wanted, at, at + PIECE + len(wanted) - 1)) >= 0:
            return place
    return -1


def _boundary(content_type: str) -> bytes:
    """The bytes before each part but the first, with the line break that they begin with."""
    try:
        boundary = parse_options_header(content_type)[1].get(b"boundary")
    except ValueError as error:
        raise MalformedBody("the multipart content type cannot be read") from error
    if not boundary:
        raise MalformedBody("the multipart content type names no boundary")
    if len(boundary) > LONGEST_BOUNDARY:
        raise MalformedBody(
            f"the multipart boundary has {len(boundary)} characters; at most {LONGEST_BOUNDARY}",
            hint="choose a shorter boundary",
        )
    return b"\r\n--" + boundary
