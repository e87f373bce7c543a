"""Pages of the HTTP APIs, from the OpenAPI document of each service's application."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from schemas import described, fields
from words import cell, paragraph

__all__ = ["pages"]

SECRET = SecretStr("a key that opens nothing, for documents alone")
INTRODUCTION = """Every server describes itself at `/openapi.json` and, for people, at `/docs`, without any
network. These pages are made from the same documents, and need none of these servers. Errors are problem
details (RFC 9457), `application/problem+json`: `type`, `title`, `status`, `detail` and mostly a `hint`."""
METHODS = ("get", "put", "post", "patch", "delete")
SENTENCES = {
    "controller": "Runs, results, audits, and what the range has.",
    "proxy": "What users and operators ask the defence proxy.",
    "provider": "The native API of a provider, and its operator's.",
    "edge": "What the range, and a user's own app, ask the edge clients.",
}


def pages() -> Iterator[tuple[str, str]]:
    """A page for each service, and one that lists them."""
    documents = dict(_documents())
    rows = [
        f"| [{name}]({name}.md) | {SENTENCES[name]} | {len(each['paths'])} |"
        for name, each in documents.items()
    ]
    introduction = [
        "# HTTP APIs",
        INTRODUCTION,
        "\n".join(["| service | what it is for | paths |", "|---|---|---|", *rows]),
    ]
    yield "http/index.md", "\n\n".join(introduction) + "\n"
    for name, document in documents.items():
        yield f"http/{name}.md", "\n\n".join(_page(name, document)) + "\n"


def _documents() -> Iterator[tuple[str, dict[str, Any]]]:
    from leakrange.clients.edge.main import create_edge
    from leakrange.clients.edge.settings import EdgeSettings
    from leakrange.services.controller.main import controller
    from leakrange.services.controller.settings import ControllerSettings
    from leakrange.services.provider.main import create_provider
    from leakrange.services.provider.settings import ProviderSettings
    from leakrange.services.proxy.main import proxy
    from leakrange.services.proxy.settings import ProxySettings

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        settings = ControllerSettings(
            operator_key=SECRET,
            fleet_secret=SECRET,
            providers={},
            database_url=f"sqlite:///{place}/nothing.sqlite",
        )
        yield "controller", controller(settings).openapi()
        yield "proxy", proxy(ProxySettings(operator_key=SECRET)).app.openapi()
        yield (
            "provider",
            create_provider(
                ProviderSettings(operator_key=SECRET, models_dir=place, state_dir=place)
            ).app.openapi(),
        )
        yield "edge", create_edge(EdgeSettings(operator_key=SECRET)).openapi()


def _page(name: str, document: Mapping[str, Any]) -> Iterator[str]:
    info = document["info"]
    yield f"# {name.capitalize()}"
    yield paragraph(info.get("description"))
    yield "## Endpoints"
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                shared = item.get("parameters", [])
                yield from _operation(method, path, item[method], shared)
    schemas = document.get("components", {}).get("schemas", {})
    if schemas:
        yield "## Schemas"
    for title, schema in schemas.items():
        yield f"### {title} {{#{title.lower()}}}"
        if told := schema.get("description"):
            yield paragraph(told)
        yield "\n".join(fields(schema, linked=True)) or described(schema, linked=True)


def _operation(method: str, path: str, operation: Mapping[str, Any], shared: list[Any]) -> Iterator[str]:
    yield f"### {method.upper()} {path}"
    # A summary that nobody wrote is the name of a function.
    yield paragraph(operation.get("description") or operation.get("summary"))
    parameters = [*shared, *operation.get("parameters", [])]
    if parameters:
        rows = [
            f"| `{each['name']}` | {each['in']} | {described(each.get('schema', {}), linked=True)} "
            f"| {'yes' if each.get('required') else 'no'} | {cell(each.get('description', ''))} |"
            for each in parameters
        ]
        yield "\n".join(["| parameter | in | type | required | meaning |", "|---|---|---|---|---|", *rows])
    if content := operation.get("requestBody", {}).get("content"):
        yield "\n".join(["| body | type |", "|---|---|", *_content(content)])
    yield "\n".join(["| status | meaning | body |", "|---|---|---|", *_responses(operation["responses"])])


def _content(content: Mapping[str, Any]) -> Iterator[str]:
    for kind, body in content.items():
        yield f"| `{kind}` | {described(body.get('schema', {}), linked=True)} |"


def _responses(responses: Mapping[str, Any]) -> Iterator[str]:
    for status, answer in responses.items():
        bodies = [
            f"`{kind}`: {described(body.get('schema', {}), linked=True)}"
            for kind, body in answer.get("content", {}).items()
        ]
        yield f"| {status} | {cell(answer.get('description', ''))} | {'; '.join(bodies)} |"
