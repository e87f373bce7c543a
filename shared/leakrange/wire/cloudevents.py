"""CloudEvents over HTTP, in binary and in structured mode, as KServe's request logger sends them."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

import orjson

from leakrange.wire.errors import InvalidInput, MalformedBody, UnsupportedMedia
from leakrange.wire.tensors import JSON, media_type

__all__ = ["CloudEvent", "read_event"]

STRUCTURED = "application/cloudevents+json"
LONGEST = 200
"""Characters of an id or a type."""


@dataclass(frozen=True)
class CloudEvent:
    """An event: its id, its type, and its data, the bytes of a JSON text."""

    id: str
    type: str
    data: bytes


def read_event(headers: Mapping[str, str], body: bytes) -> CloudEvent:
    """Read a request's headers, whose names are in lower case, and its body.

    Raises `UnsupportedMedia` for a body that is no JSON by its type, `MalformedBody` for one that is none by
    its content, `InvalidInput` where an attribute of the event is missing or wrong.
    """
    kind = media_type(headers.get("content-type"))
    if kind == STRUCTURED:
        return _structured(body)
    if kind != JSON:
        raise UnsupportedMedia(
            f"content type {kind[:80] or 'none'!r} is no JSON, from which rows could be made",
            hint="have clients of the model send JSON, not binary tensors",
        )
    attributes = {name: unquote(headers.get(f"ce-{name}", "")) for name in ("specversion", "id", "type")}
    _parsed(body)
    return _event(attributes, body)


def _structured(body: bytes) -> CloudEvent:
    envelope = _parsed(body)
    if not isinstance(envelope, dict):
        raise InvalidInput("a structured event is a JSON object")
    if ("data" in envelope) == ("data_base64" in envelope):
        raise InvalidInput("a structured event has either 'data' or 'data_base64'")
    if "data" in envelope:
        return _event(envelope, orjson.dumps(envelope["data"]))
    try:
        data = b64decode(envelope["data_base64"], validate=True)
    except (ValueError, TypeError) as error:
        raise MalformedBody("'data_base64' of the event is no base64") from error
    _parsed(data)
    return _event(envelope, data)


def _event(attributes: Mapping[str, Any], data: bytes) -> CloudEvent:
    version = attributes.get("specversion")
    if version != "1.0":
        raise InvalidInput(
            f"the event is of CloudEvents {str(version)[:20]!r}",
            hint="send version 1.0: headers ce-specversion, ce-id and ce-type, or a structured event",
        )
    for name in ("id", "type"):
        value = attributes.get(name)
        if not isinstance(value, str) or not 0 < len(value) <= LONGEST or not value.isprintable():
            raise InvalidInput(
                f"the event's {name!r} should be a text of 1 to {LONGEST} printable characters"
            )
    return CloudEvent(attributes["id"], attributes["type"], data)


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedBody(f"the event's data are no JSON: {error}") from error
