"""The body of an HTTP answer as it comes from a server that is not trusted: bounded once it is unpacked."""

from __future__ import annotations

import zlib

from leakrange.wire.errors import Unavailable, UpstreamFailed

__all__ = ["ACCEPTED", "Received"]

ACCEPTED = "gzip"
"""The encodings in ``Accept-Encoding``. Of the others some unpack a million times their size at once."""
_WINDOW = {"gzip": 31, "x-gzip": 31, "deflate": 47}
"""By encoding, how zlib is told of it."""


class Received:
    """Takes the pieces of a body, packed by the answer's ``Content-Encoding``, from ``place``.

    A piece is never unpacked further than to ``most`` bytes of the whole. Raises `UpstreamFailed` for an
    encoding that is not read (several on top of each other, for one), and for a body that is longer.
    """

    def __init__(self, encoding: str | None, most: int, place: str) -> None:
        name = (encoding or "identity").strip().lower()
        if name not in ("", "identity", *_WINDOW):
            raise UpstreamFailed(f"the answer from {place} is packed as {name[:60]!r}, which is not read")
        self._window = _WINDOW.get(name)
        self._unpacking = None if self._window is None else zlib.decompressobj(self._window)
        self._body, self._most, self._place = bytearray(), most, place

    def add(self, piece: bytes) -> None:
        """Add the next piece, still packed. Raises `UpstreamFailed` if the body gets too long, and
        `Unavailable` if it cannot be unpacked."""
        if self._window is None:
            self._body += piece
        while self._unpacking is not None and piece and len(self._body) <= self._most:
            if self._unpacking.eof:  # another member follows
                self._unpacking = zlib.decompressobj(self._window or 0)
            try:
                self._body += self._unpacking.decompress(piece, self._most + 1 - len(self._body))
            except zlib.error as error:
                raise Unavailable(f"the answer from {self._place} cannot be unpacked: {error}") from error
            piece = self._unpacking.unused_data or self._unpacking.unconsumed_tail
        if len(self._body) > self._most:
            raise UpstreamFailed(f"the answer from {self._place} is longer than {self._most} bytes")

    def whole(self) -> bytes:
        """Return the body, once all pieces are there. Raises `Unavailable` if a packed body is cut short."""
        if self._unpacking is not None and self._body and not self._unpacking.eof:
            raise Unavailable(f"the answer from {self._place} is cut short")
        return bytes(self._body)
