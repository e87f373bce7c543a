"""Reads an OpenAPI document of somebody else: its operations that take a sample. Nothing that it refers to
outside itself is followed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import orjson
import yaml

from leakrange.wire.errors import InvalidInput

__all__ = ["OpenApiDocument", "Operation", "chosen_operation", "legible", "read_openapi"]

MOST_BYTES = 16 * 2**20
MOST_YAML = 2**19
"""Bytes of a document in YAML, which is read slowly."""
MOST_DEPTH = 60
MOST_REFERENCES = 30
"""References that lead to one another."""
_PREDICTS = re.compile(r"predict|score|infer|classif|invocation|detect|compare|verify|embed", re.IGNORECASE)
_MEDIA = ("application/json", "multipart/form-data", "text/csv")
"""Bodies that a target can send, the best first."""


@dataclass(frozen=True)
class Operation:
    """One operation that takes a body: its ``method`` and ``path``, all about it, and the ``media`` type and
    ``schema`` of the body."""

    method: str
    path: str
    about: Mapping[str, Any]
    media: str
    body: Mapping[str, Any]

    @property
    def title(self) -> str:
        """As a user names it: ``POST /score``."""
        return f"{self.method} {self.path}"


class OpenApiDocument:
    """A document of OpenAPI 3 that came from ``origin``: an address, or the name of a file."""

    def __init__(self, content: Mapping[str, Any], origin: str) -> None:
        self._content, self._origin = content, origin

    def resolved(self, node: Any) -> Mapping[str, Any]:
        """The object that stands there, or that a reference there leads to. Raises `InvalidInput` where none
        does, or where it stands in another document."""
        for _ in range(MOST_REFERENCES):
            if not isinstance(node, Mapping):
                raise InvalidInput(f"the document has {str(node)[:40]!r} where an object is expected")
            reference = node.get("$ref")
            if reference is None:
                return node
            node = self._at(str(reference))
        raise InvalidInput("the document has references that lead to each other alone")

    def _at(self, reference: str) -> Any:
        if not reference.startswith("#/"):
            raise InvalidInput(
                f"the document refers to {reference[:80]!r}, which is not in it",
                hint="put all of it into one document, or paste a curl command instead",
            )
        node: Any = self._content
        for step in reference[2:].split("/"):
            name = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(node, Mapping) or name not in node:
                raise InvalidInput(f"the document refers to {reference[:80]!r}, where nothing stands")
            node = node[name]
        return node

    def operations(self) -> Iterator[Operation]:
        """All operations with a body that a target can send."""
        for path, item in _members(self._content, "paths"):
            for method, about in self.resolved(item).items():
                if (
                    method not in ("post", "put")
                    or not isinstance(about, Mapping)
                    or "requestBody" not in about
                ):
                    continue
                content = dict(_members(self.resolved(about["requestBody"]), "content"))
                media = next((each for each in _MEDIA if each in content), None)
                if media is not None:
                    schema = self.resolved(content[media])
                    yield Operation(method.upper(), path, about, media, schema)

    def parameters(self, operation: Operation) -> Iterator[Mapping[str, Any]]:
        """What stands in the address of an operation, or in its headers."""
        item = self.resolved(dict(_members(self._content, "paths"))[operation.path])
        for each in [*(item.get("parameters") or []), *(operation.about.get("parameters") or [])]:
            yield self.resolved(each)

    def address(self, url: str | None) -> str:
        """The server's address: ``url`` if the user names one, else the document's. Raises `InvalidInput`
        where neither tells."""
        servers = self._content.get("servers") or [{}]
        first = servers[0] if isinstance(servers, list) else {}
        named = str(first.get("url", "/")) if isinstance(first, Mapping) else "/"
        base = url or urljoin(self._origin, named)
        if urlsplit(base).scheme not in ("http", "https") or "{" in base:
            raise InvalidInput(f"the document does not say where its server is: {named!r}", hint="say --url")
        return base.rstrip("/")

    def security(self, operation: Operation) -> Iterator[Mapping[str, Any]]:
        """The schemes by which an operation has to be told who asks."""
        wanted = operation.about.get("security", self._content.get("security")) or []
        components = self._content.get("components")
        schemes = dict(_members(components if isinstance(components, Mapping) else {}, "securitySchemes"))
        for name in next((each for each in wanted if isinstance(each, Mapping)), {}):
            if name in schemes:
                yield self.resolved(schemes[name])


def read_openapi(content: bytes, origin: str) -> OpenApiDocument:
    """The document in a JSON or YAML file. Raises `InvalidInput` for what is none, or too large."""
    if len(content) > MOST_BYTES:
        raise InvalidInput(f"{origin} has {len(content)} bytes; at most {MOST_BYTES} are read")
    try:
        parsed = orjson.loads(content)
    except orjson.JSONDecodeError:
        parsed = _yaml(content, origin)
    if not isinstance(parsed, dict) or not isinstance(parsed.get("paths"), dict):
        raise InvalidInput(f"{origin} is no OpenAPI document: it has no 'paths'")
    if not str(parsed.get("openapi", "")).startswith("3."):
        version = str(parsed.get("openapi", parsed.get("swagger")))[:20]
        raise InvalidInput(
            f"{origin} is of version {version}, and OpenAPI 3 is read",
            hint="convert it, or paste a curl command instead",
        )
    return OpenApiDocument(parsed, origin)


@contextmanager
def legible() -> Iterator[None]:
    """Turn what Python raises for parts of a document that are of another form into `InvalidInput`."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, LookupError, OverflowError, RecursionError) as error:
        raise InvalidInput(
            f"the document has parts of another form than OpenAPI's: {str(error)[:120]}",
            hint="paste a curl command instead: leakrange target new",
        ) from error


def chosen_operation(document: OpenApiDocument, named: str | None) -> Operation:
    """The operation that the user ``named``, by its method and path, path or id; else the one that predicts.
    Raises `InvalidInput`, which lists all, where there is none or it is not clear which."""
    with legible():
        every = list(document.operations())
    if not every:
        raise InvalidInput("no operation of the document takes a body of JSON, CSV or a form")
    if named is None:
        likely = [each for each in every if _PREDICTS.search(each.title + str(each.about.get("operationId")))]
        candidates = likely or every
    else:
        given = named.strip()
        candidates = [
            each for each in every if given in (each.title, each.path, each.about.get("operationId"))
        ]
    if len(candidates) == 1:
        return candidates[0]
    listed = ", ".join(each.title for each in every[:20])
    what = "which operation is asked?" if candidates else f"no operation is {named!r}:"
    raise InvalidInput(f"{what} there are {listed}", hint=f"--operation '{every[0].title}'")


class _Plain(yaml.SafeLoader):
    """YAML without aliases, which a small file can grow by without end, and not nested too deep."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """Take the events of the next node. Raises `yaml.YAMLError` for an alias."""
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not followed")
        if self.depth > MOST_DEPTH:
            raise yaml.YAMLError(f"it is nested deeper than {MOST_DEPTH} levels")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def _yaml(content: bytes, origin: str) -> Any:
    if len(content) > MOST_YAML:
        raise InvalidInput(
            f"{origin} is no JSON, and {len(content)} bytes of YAML are too many", hint="give it as JSON"
        )
    try:
        return yaml.load(content, _Plain)
    except (yaml.YAMLError, ValueError, RecursionError, UnicodeDecodeError) as error:
        first = next(iter(str(error).splitlines()), type(error).__name__)
        raise InvalidInput(f"{origin} is neither JSON nor YAML that is read: {first[:120]}") from error


def _members(content: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """The entries of an object in the document, if it is one."""
    there = content.get(name)
    if isinstance(there, Mapping):
        yield from ((str(key), value) for key, value in there.items())
