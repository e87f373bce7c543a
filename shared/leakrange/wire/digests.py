"""Digests of many contents that share their beginning: each is hashed once, the beginning for all of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

__all__ = ["digest_each"]


def digest_each(begun: hashlib.blake2b, contents: Iterable[bytes | memoryview]) -> list[bytes]:
    """The digest of each of ``contents``, appended to what ``begun`` has taken in; that stays as it is."""
    digests = []
    for content in contents:
        of_this = begun.copy()
        of_this.update(content)
        digests.append(of_this.digest())
    return digests
