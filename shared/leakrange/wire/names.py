"""Names of models, enrolled people and uploads, and where a request names the person.

An unkeyed hash can be inverted by guessing its input. So names that users see are made with a secret.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final
from urllib.parse import parse_qsl

import orjson

from leakrange.wire.errors import InvalidInput

__all__ = [
    "NAME",
    "PROVIDER_NAME",
    "PublicNames",
    "asked_person",
    "check_person",
    "derived_secret",
    "is_name",
    "upload_name",
]

NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"
"""A regular expression, without anchors: nothing that it matches leads elsewhere in a path."""
PROVIDER_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,47}$"
"""The names of providers: PostgreSQL takes ``provider_`` and such a name as that of a user and a schema."""
_NAME: Final = re.compile(NAME)


def is_name(text: str) -> bool:
    """Whether this is a valid name of a model or a person."""
    return _NAME.fullmatch(text) is not None


def check_person(person: str) -> str:
    """Return ``person``; raises `InvalidInput` if it is no valid name."""
    if not is_name(person):
        raise InvalidInput(
            f"{person[:40]!r} is no person's name",
            hint="1 to 128 ASCII letters, digits, '.', '_' and '-', the first a letter or a digit",
        )
    return person


def asked_person(query: str) -> str | None:
    """Return the parameter ``person`` of a query string unchecked; None if the query is empty.

    Raises `InvalidInput` for any other parameter.
    """
    try:
        given = parse_qsl(query, keep_blank_values=True, max_num_fields=2)
    except ValueError as error:
        raise InvalidInput("the query string has too many fields") from error
    if not given:
        return None
    if len(given) > 1 or given[0][0] != "person":
        raise InvalidInput("the only query parameter is one 'person'")
    return given[0][1]


def upload_name(account: str, key: str) -> str:
    """The name (64 hexadecimal characters) under which the proxy forwards an upload with the idempotency
    key ``key`` of an API key's ``account``. A provider does not know accounts, and two users may choose
    the same key."""
    return hashlib.sha256(f"{account}\0{key}".encode()).hexdigest()


def derived_secret(secret: str, purpose: str) -> bytes:
    """Derive a secret of 32 bytes for one purpose from that of a range (the settings' ``derivation_secret``).
    It is the same in every process and after every restart, and independent of the secrets for other
    purposes."""
    return hmac.new(secret.encode(), f"leakrange {purpose}".encode(), hashlib.sha256).digest()


class PublicNames:
    """Makes the identities of models that users see. Without the secret nobody can test guesses of
    their input, or tell which of them have the same input."""

    def __init__(self, secret: str) -> None:
        self._secret = derived_secret(secret, "public names")

    def of(self, *what: str) -> str:
        """Return 12 hexadecimal characters for ``what``, always the same ones."""
        return hmac.new(self._secret, orjson.dumps(what), hashlib.sha256).hexdigest()[:12]
