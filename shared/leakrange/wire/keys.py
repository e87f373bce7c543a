"""Keys of a setting, of which several are valid while one replaces another; and API keys that are derived
from a secret and a name, so that they need not be sent to parties that know both."""

from __future__ import annotations

import hashlib
import hmac

__all__ = ["all_keys", "api_key", "first_key", "is_key"]


def all_keys(keys: str) -> list[str]:
    """Return the keys of a setting: one, or several with commas between while they are rotated."""
    return [key.strip() for key in keys.split(",")]


def first_key(keys: str) -> str:
    """Return the key of a setting that is shown to others; the further ones are only accepted from them."""
    return all_keys(keys)[0]


def is_key(given: str, keys: str) -> bool:
    """Whether ``given`` is one of the keys of a setting. The time that it takes does not depend on which."""
    return sum(hmac.compare_digest(given.encode(), key.encode()) for key in all_keys(keys)) > 0


def api_key(secret: str, name: str) -> str:
    """Derive the API key of a name: always the same, and known to nobody without the secret."""
    return f"lr_{hmac.new(secret.encode(), b'api-key:' + name.encode(), hashlib.sha256).hexdigest()}"
