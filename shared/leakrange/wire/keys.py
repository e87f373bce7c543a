"""API keys that are derived from a secret and a name, so that they need not be sent to parties that know
both."""

from __future__ import annotations

import hashlib
import hmac

__all__ = ["api_key"]


def api_key(secret: str, name: str) -> str:
    """Derive the API key of a name: always the same, and known to nobody without the secret."""
    return f"lr_{hmac.new(secret.encode(), b'api-key:' + name.encode(), hashlib.sha256).hexdigest()}"
