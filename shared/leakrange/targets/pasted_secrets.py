"""Secrets in a pasted request: variables stand in their place, or the request is refused."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from leakrange.targets.curl import PastedRequest
from leakrange.targets.target import SECRET_NAME
from leakrange.wire.errors import InvalidInput

__all__ = ["check_address", "check_members", "hidden_headers", "variable_of"]

DROPPED = frozenset(
    {"host", "content-length", "user-agent", "accept-encoding", "connection", "origin", "referer", "priority"}
    | {"accept-language", "dnt", "cache-control", "pragma", "te", "expect"}
)
"""Headers of browsers and of connections, which a target does not need."""
_KEY = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])[\w+/=.~-]{16,}")
"""What looks like a key, under whatever name."""


def check_address(pasted: PastedRequest) -> None:
    """Raise `InvalidInput` where the address holds a secret, or is none."""
    try:
        parts = urlsplit(pasted.url)
    except ValueError as error:
        raise InvalidInput(f"{pasted.url[:80]!r} is no address: {error}") from error
    secret = next((key for key, _ in parse_qsl(parts.query) if SECRET_NAME.search(key) or key == "key"), None)
    if parts.password or secret:
        raise InvalidInput(
            f"the address holds a secret ({secret or 'a password'}): a file keeps secrets in headers alone",
            hint="send it in a header, if the server takes it there",
        )


def hidden_headers(pasted: PastedRequest, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """The headers with variables in the place of secrets, and the secrets by variable."""
    given = dict(pasted.headers)
    if pasted.user is not None:
        given["Authorization"] = "Basic " + base64.b64encode(pasted.user.encode()).decode()
    stem = _stem(name)
    headers: dict[str, str] = {}
    secrets: dict[str, str] = {}
    for header, value in given.items():
        low = header.lower()
        if low in DROPPED or low.startswith("sec-"):
            continue
        if low in ("accept", "content-type") or not (SECRET_NAME.search(header) or _KEY.search(value)):
            headers[header] = value
            continue
        scheme, space, proof = value.partition(" ")
        if low != "authorization" or not space:
            scheme, proof = "", value
        shell = re.fullmatch(r"\$\{?([A-Z][A-Z0-9_]*)\}?", proof)
        variable = shell[1] if shell else _variable(stem, header, secrets)
        if shell is None:
            secrets[variable] = proof
        headers[header] = f"{scheme} ${{{variable}}}".strip()
    return headers, secrets


def variable_of(name: str) -> str:
    """The variable of the environment that holds the secret of the target of that name."""
    return f"{_stem(name)}_KEY"


def _stem(name: str) -> str:
    stem = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
    return stem if re.match(r"(?!LEAKRANGE_|AWS|PATH|HOME)[A-Z]", stem + "_") else f"TARGET_{stem}"


def _variable(stem: str, header: str, taken: Mapping[str, str]) -> str:
    plain = f"{stem}_KEY"
    return plain if plain not in taken else f"{stem}_{re.sub(r'[^A-Z0-9]+', '_', header.upper())}"


def check_members(content: Any) -> None:
    """Raise `InvalidInput` where a member of the parsed body is named as a secret is."""
    for key, value in content.items() if isinstance(content, dict) else ():
        if isinstance(value, str) and SECRET_NAME.search(key):
            raise InvalidInput(
                f"the body holds a secret ({key}): a file keeps secrets in headers alone",
                hint="send it in a header, if the server takes it there",
            )
