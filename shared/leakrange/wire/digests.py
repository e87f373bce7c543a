"""Digests of JSON values, and of many contents that share their beginning."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import orjson

__all__ = ["digest", "digest_each"]


def digest(value: Any) -> str:
    """SHA-256 (hex, 64 characters) of a JSON value, independent of the order of its keys."""
    return hashlib.sha256(
        orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    ).hexdigest()


def digest_each(begun: hashlib.blake2b, contents: Iterable[bytes | memoryview]) -> list[bytes]:
    """Return the digest of ``begun`` followed by each of ``contents``; ``begun`` stays unchanged.

    The common beginning is hashed once for all of them.
    """
    digests = []
    for content in contents:
        of_this = begun.copy()
        of_this.update(content)
        digests.append(of_this.digest())
    return digests
