"""API keys: 32 random bytes, shown once, stored as their SHA-256."""

from __future__ import annotations

import hashlib
import secrets


def new_key() -> str:
    """A fresh API key: ``lr_`` and 32 random bytes in base64url."""
    return f"lr_{secrets.token_urlsafe(32)}"


def fingerprint(key: str) -> str:
    """What is stored of a key (SHA-256, hex).

    A key has at least 128 random bits, so a plain hash cannot be searched. Looking up a hash takes no longer
    for a key that is nearly right, so the time of an answer tells nothing.
    """
    return hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()
