"""API keys: 32 random bytes, shown once, stored as their SHA-256."""

from __future__ import annotations

import hashlib
import secrets
from functools import lru_cache

from leakrange.service.app import bearer

REMEMBERED, LONGEST = 1024, 256
"""Number of headers whose fingerprints are cached, and the bytes of the longest of them."""


def new_key() -> str:
    """A fresh API key: ``lr_`` and 32 random bytes in base64url."""
    return f"lr_{secrets.token_urlsafe(32)}"


def fingerprint(key: str) -> str:
    """The stored form of a key (SHA-256, hex).

    A key has at least 128 random bits, so a plain hash cannot be searched. Looking up a hash takes no longer
    for a key that is nearly right, so the time of an answer tells nothing.
    """
    return hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()


def authorized(header: bytes | None) -> str:
    """The fingerprint of the key in an ``Authorization: Bearer`` header. It does not show what the key may
    do, or whether it is known. Raises `Unauthenticated` where there is no key."""
    if header is None or len(header) > LONGEST:
        return fingerprint(bearer(header.decode("latin-1") if header else None))
    return _remembered(header)


@lru_cache(REMEMBERED)
def _remembered(header: bytes) -> str:
    return fingerprint(bearer(header.decode("latin-1")))
