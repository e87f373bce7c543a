"""The ``Idempotency-Key`` of a request, and the digest that tells requests under one key apart."""

from __future__ import annotations

import hashlib
from collections.abc import Generator

import orjson

from leakrange.service.exchange import Request
from leakrange.services.proxy.ledger import Idempotency
from leakrange.wire.errors import InvalidInput
from leakrange.wire.turns import in_turns

__all__ = ["idempotency_of", "repeat_of"]

HASHED_AT_ONCE = 1_048_576


def repeat_of(request: Request) -> str | None:
    """The digest of the request's ``Idempotency-Key``, None where it has none. Raises `InvalidInput`."""
    key = request.headers.get(b"idempotency-key")
    if key is None:
        return None
    if not 0 < len(key) <= 200 or not key.isascii() or not key.isprintable():
        raise InvalidInput("an Idempotency-Key has 1 to 200 printable ASCII characters")
    return hashlib.sha256(key.encode()).hexdigest()


async def idempotency_of(
    request: Request, repeat: str | None, body: bytes, accept: str
) -> Idempotency | None:
    """The identity of a request with that `repeat_of`, and an answer in the media type ``accept``."""
    if repeat is None:
        return None
    return Idempotency(repeat, await in_turns(_digest(request, body, accept), len(body)))


def _digest(request: Request, body: bytes, accept: str) -> Generator[None, None, str]:
    """A digest that distinguishes requests under the same key, computed a step at a time."""
    identity = [request.path, accept, request.headers.get(b"content-type"), request.headers.get(b"x-release")]
    digest = hashlib.sha256(orjson.dumps([*identity, request.query] if request.query else identity))
    for begin in range(0, len(body), HASHED_AT_ONCE):
        digest.update(memoryview(body)[begin : begin + HASHED_AT_ONCE])
        yield
    return digest.hexdigest()
