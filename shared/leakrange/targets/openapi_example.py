"""The request of an OpenAPI operation with a sample that its schema allows: what a user would have pasted."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from leakrange.targets.curl import PastedRequest
from leakrange.targets.openapi_document import OpenApiDocument, Operation, legible
from leakrange.wire.errors import InvalidInput
from leakrange.wire.pictures import png

__all__ = ["ExampleRequest", "example_request"]

MOST_NODES = 2_000
"""Parts of an example that are made."""
MOST_DEPTH = 30
MOST_LENGTH = 1_000
"""Entries of one list."""
PICTURE = (64, 64, 3)
_NUMBERS = ("number", "integer")
_NOT_SAID = "the document does not say what a sample looks like"
_SAY = "--columns age,hours for rows of a table, --shape 4 for vectors, --shape 28x28x1 for pictures"


@dataclass(frozen=True)
class ExampleRequest:
    """A ``request`` as if it were pasted, the bytes of the picture in it, and the ``labels`` that an answer
    may have by the schema; None where it names none."""

    request: PastedRequest
    picture: bytes
    labels: tuple[str, ...] | None

    def read_file(self, _path: Path) -> bytes:
        """The picture, which a form sends as a file."""
        return self.picture


def example_request(
    document: OpenApiDocument,
    operation: Operation,
    *,
    url: str | None = None,
    variable: str,
    looks: Mapping[str, Any] | None = None,
    filled: Mapping[str, str] | None = None,
) -> ExampleRequest:
    """The request of ``operation``. ``looks`` is the card's input as far as the user told it, ``filled`` are
    values for what stands in the address; who asks is told by the environment's ``variable``.

    Raises `InvalidInput` for a schema that no example can be made of, and what stays open.
    """
    with legible():
        example = _Example(document, looks or {})
        content = example.of_media(operation.body)
        request = PastedRequest(
            url=_address(document, operation, url, filled or {}),
            method=operation.method,
            headers=_headers(document, operation, variable) | {"Content-Type": operation.media},
        )
        if operation.media == "multipart/form-data":
            request.form = {str(name): str(value) for name, value in dict(content).items()}
        elif operation.media == "text/csv":
            request.body = str(content).encode()
        else:
            request.body = orjson.dumps(content)
        return ExampleRequest(request, example.picture, _labels(document, operation))


class _Example:
    """Makes one value that a schema allows, of few nodes whatever the schema refers to."""

    def __init__(self, document: OpenApiDocument, looks: Mapping[str, Any]) -> None:
        self._document, self._nodes = document, 0
        self._columns: Sequence[str] = looks.get("columns") or ()
        self._shape: tuple[int, ...] = tuple(
            looks.get("shape") or ((len(self._columns),) if self._columns else ())
        )
        sides = self._shape if len(self._shape) == 3 else PICTURE
        self.picture = png(np.zeros(sides, np.uint8))

    def of_media(self, media: Mapping[str, Any]) -> Any:
        """The document's own example, if it has one, else a value by the schema."""
        if "example" in media:
            return media["example"]
        for each in (
            (media.get("examples") or {}).values() if isinstance(media.get("examples"), Mapping) else ()
        ):
            return self._document.resolved(each).get("value")
        return self.value(media.get("schema", {}))

    def value(self, schema: Any, depth: int = 0) -> Any:
        """A value of the schema. Raises `InvalidInput` where its parts lead to each other without end."""
        self._nodes += 1
        if depth > MOST_DEPTH or self._nodes > MOST_NODES:
            raise InvalidInput(
                "the schema of the request has no end: parts of it hold themselves",
                hint="paste a curl command instead: leakrange target new",
            )
        node = self._document.resolved(schema)
        for name in ("const", "example", "default"):
            if node.get(name) is not None:
                return node[name]
        for name in ("examples", "enum"):
            if isinstance(node.get(name), list) and node[name]:
                return node[name][0]
        for name in ("anyOf", "oneOf"):
            if isinstance(node.get(name), list) and node[name]:
                return self.value(self._first(node[name]), depth + 1)
        if isinstance(node.get("allOf"), list):
            return self._object(self._merged(node), depth)
        return self._of_type(node, depth)

    def _of_type(self, node: Mapping[str, Any], depth: int) -> Any:
        kind = node.get("type")
        if isinstance(kind, list):
            kind = next((each for each in kind if each != "null"), None)
        if kind == "object" or "properties" in node:
            return self._object(node, depth)
        if kind == "array":
            return self._list(node, depth)
        if kind in _NUMBERS:
            return _number(node, whole=kind == "integer")
        if kind == "boolean":
            return True
        if kind == "string":
            return self._text(node)
        raise InvalidInput(f"{_NOT_SAID}: a part of the request may be anything", hint=_SAY)

    def _object(self, node: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = node.get("properties")
        if isinstance(properties, Mapping) and properties:
            wanted = set(node.get("required") or ()) or set(properties)
            return {
                str(name): self.value(each, depth + 1) for name, each in properties.items() if name in wanted
            }
        if not self._columns:
            raise InvalidInput(f"{_NOT_SAID}: an object of the request may have any names", hint=_SAY)
        more = node.get("additionalProperties")
        return {
            name: self.value(more, depth + 1) if isinstance(more, Mapping) else 1.0 for name in self._columns
        }

    def _list(self, node: Mapping[str, Any], depth: int) -> list[Any]:
        parts = node.get("prefixItems")
        if isinstance(parts, list) and parts:
            return [self.value(each, depth + 1) for each in parts[:MOST_LENGTH]]
        axes, inner = self._axes(node)
        if inner is None:
            return [self.value(node.get("items", {}), depth + 1)]
        lengths = [axis for axis in axes if axis is not None]
        if len(lengths) < len(axes):
            lengths = self._lengths(axes)
        if np.prod([float(each) for each in lengths]) > MOST_NODES**2:
            raise InvalidInput(f"a sample of {' x '.join(map(str, lengths))} numbers is too large")
        number = _number(inner, whole=inner.get("type") == "integer")
        values: list[Any] = np.full(lengths, number).tolist()
        return values

    def _axes(self, node: Mapping[str, Any]) -> tuple[list[int | None], Mapping[str, Any] | None]:
        """The lengths of lists within lists, None where any is allowed, and the schema of the numbers in
        them; None where there are no numbers."""
        axes: list[int | None] = []
        while node.get("type") == "array" and len(axes) < MOST_DEPTH:
            least, most = node.get("minItems"), node.get("maxItems")
            axes.append(
                least if isinstance(least, int) and least == most and 0 < least <= MOST_LENGTH else None
            )
            node = self._document.resolved(node.get("items", {}))
            if isinstance(node.get("anyOf"), list) and node["anyOf"]:
                node = self._document.resolved(self._first(node["anyOf"]))
        return axes, node if node.get("type") in _NUMBERS and len(axes) < MOST_DEPTH else None

    def _lengths(self, axes: Sequence[int | None]) -> list[int]:
        """The lengths of all axes: the last are those of a sample, and one before them counts samples."""
        more = len(axes) - len(self._shape)
        fixed = [axis for axis in axes[1:] if axis is not None]
        if not self._shape and len(axes) > 1 and len(fixed) == len(axes) - 1:
            return [1, *fixed]
        if not self._shape or more not in (0, 1):
            counted = "its list" if len(axes) == 1 else f"its lists of {len(axes)} axes"
            raise InvalidInput(f"{_NOT_SAID}: how many numbers are in {counted}?", hint=_SAY)
        return [1] * more + list(self._shape)

    def _text(self, node: Mapping[str, Any]) -> str:
        form = " ".join(str(node.get(name, "")) for name in ("format", "contentMediaType", "contentEncoding"))
        if "base64" in form or "byte" in form:
            return base64.b64encode(self.picture).decode()
        if re.search(r"binary|octet-stream|image/", form):
            return "@sample.png"
        wording = f"{node.get('title', '')} {node.get('description', '')}"
        if re.search(r"image|picture|photo|png|jpe?g|base64", wording, re.IGNORECASE):
            return base64.b64encode(self.picture).decode()
        return "a"

    def _first(self, choices: Sequence[Any]) -> Any:
        nodes = [self._document.resolved(each) for each in choices]
        return next((each for each in nodes if each.get("type") != "null"), nodes[0])

    def _merged(self, node: Mapping[str, Any]) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required: list[str] = []
        for each in [*node["allOf"][:MOST_LENGTH], node]:
            part = self._document.resolved(each)
            properties |= part.get("properties") or {}
            required += part.get("required") or []
        return {"properties": properties, "required": required}


def _number(node: Mapping[str, Any], *, whole: bool) -> float:
    """A number between the bounds of the schema."""
    low, high = (
        next((float(node[name]) for name in names if isinstance(node.get(name), int | float)), None)
        for names in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))
    )
    if low is not None and high is not None:
        number = (low + high) / 2
    elif low is not None:
        number = low + 1.0
    else:
        number = 1.0 if high is None else min(1.0, high - 1.0)
    return int(number) if whole else number


def _address(
    document: OpenApiDocument, operation: Operation, url: str | None, filled: Mapping[str, str]
) -> str:
    path, query = operation.path, []
    for each in document.parameters(operation):
        name, where = str(each.get("name")), each.get("in")
        if where not in ("path", "query") or (
            where == "query" and not (each.get("required") or name in filled)
        ):
            continue
        schema = document.resolved(each.get("schema", {}))
        known = [filled.get(name), each.get("example"), schema.get("default"), *(schema.get("enum") or [])]
        value = next((str(given) for given in known if given is not None), None)
        if value is None:
            raise InvalidInput(
                f"the address has a part {name!r} whose value is yours", hint=f"--option {name}=VALUE"
            )
        if where == "path":
            path = path.replace(f"{{{name}}}", value)
        else:
            query.append(f"{name}={value}")
    return document.address(url) + path + ("?" + "&".join(query) if query else "")


def _headers(document: OpenApiDocument, operation: Operation, variable: str) -> dict[str, str]:
    """The headers that tell who asks, with a variable in the place of the secret."""
    headers: dict[str, str] = {}
    for scheme in document.security(operation):
        kind, name = scheme.get("type"), str(scheme.get("scheme", "")).lower()
        if kind == "apiKey" and scheme.get("in") == "header":
            headers[str(scheme.get("name"))] = f"${{{variable}}}"
        elif kind in ("http", "oauth2", "openIdConnect"):
            headers["Authorization"] = f"{'Basic' if name == 'basic' else 'Bearer'} ${{{variable}}}"
    return headers


def _labels(document: OpenApiDocument, operation: Operation) -> tuple[str, ...] | None:
    """The names that an answer's schema lists, where it lists names once alone."""
    responses = operation.about.get("responses")
    good = next(
        (
            each
            for code, each in (responses.items() if isinstance(responses, Mapping) else ())
            if str(code).startswith("2")
        ),
        None,
    )
    waiting: list[Any] = [good]
    listed: list[tuple[str, ...]] = []
    for _ in range(MOST_NODES):
        if not waiting:
            break
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, Mapping):
            try:
                node = document.resolved(node)
            except InvalidInput:
                continue
            names = node.get("enum")
            if isinstance(names, list) and len(names) > 1 and all(isinstance(name, str) for name in names):
                listed.append(tuple(names))
            waiting += list(node.values())
    return listed[0] if len(set(listed)) == 1 else None
