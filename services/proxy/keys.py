"""API keys: 32 random bytes, shown once, stored as their SHA-256."""

from __future__ import annotations

import hashlib
import secrets

__all__ = ["fingerprint", "new_key"]


def new_key() -> str:
    """A fresh API key: ``lr_`` and 32 random bytes in base64url."""
    return f"lr_{secrets.token_urlsafe(32)}"


def fingerprint(key: str) -> str:
    """What is stored of a key (SHA-256, hex).

    A key has at least 128 bits of chance, so a plain hash cannot be searched; and looking a hash up takes no
    longer for a key that is nearly right, so nothing is learnt from the time of an answer.
    """
    return hashlib.sha256(key.encode(errors="surrogateescape")).hexdigest()
