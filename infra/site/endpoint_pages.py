"""Pages of the HTTP APIs, from the OpenAPI document of each service's application."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import indent
from typing import Any

from fastapi import FastAPI
from pydantic import SecretStr
from schemas import described, fields
from words import cell, paragraph

__all__ = ["applications", "pages"]

SECRET = SecretStr("a key that opens nothing and is for documents alone")
INTRODUCTION = """Every server describes itself at `/openapi.json` and, for people, at `/docs`, without any
network. These pages are made from the same documents. Errors are problem details (RFC 9457),
`application/problem+json`: `type`, `title`, `status`, `detail` and mostly a `hint`. The header
`Authorization: Bearer KEY` says who asks, with the operator key or an API key."""
METHODS = ("get", "put", "post", "patch", "delete")
SENTENCES = {
    "controller": "Runs, results, audits, and what the range has.",
    "proxy": "What users and operators ask the defence proxy.",
    "provider": "The native API of a provider, and its operator's.",
    "edge": "What the range, and a user's own app, ask the edge clients.",
}


def pages() -> Iterator[tuple[str, str]]:
    """A page for each subject of a service, one for each service that lists these, and one for all."""
    with applications() as servers:
        documents = {name: app.openapi() for name, app in servers.items()}
    rows = []
    for name, document in documents.items():
        rows.append(f"| [{name}]({name}/index.md) | {SENTENCES[name]} | {len(document['paths'])} |")
        yield from _service(name, document)
    table = "\n".join(["| service | what it is for | paths |", "|---|---|---|", *rows])
    yield "http/index.md", "\n\n".join(["# HTTP APIs", INTRODUCTION, table]) + "\n"


@contextmanager
def applications() -> Iterator[dict[str, FastAPI]]:
    """Each server's application, by the name of the server, until the block ends. None of them is served."""
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
        served = ProviderSettings(operator_key=SECRET, models_dir=place, state_dir=place)
        yield {
            "controller": controller(settings),
            "proxy": proxy(ProxySettings(operator_key=SECRET)).app,
            "provider": create_provider(served).app,
            "edge": create_edge(EdgeSettings(operator_key=SECRET)),
        }


def _service(name: str, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    schemas = document.get("components", {}).get("schemas", {})
    subjects = _subjects(document)
    places: dict[str, str] = {}
    """Where each schema is described: on the page of the first subject that needs it."""
    for subject, operations in subjects.items():
        for schema in _reached([operation for *_, operation in operations], schemas):
            places.setdefault(schema, _file(subject))
    rows = []
    for subject, operations in subjects.items():
        page = _file(subject)
        links = {each: ("" if it == page else it) + f"#{each.lower()}" for each, it in places.items()}
        parts = [f"# {name.capitalize()}: {subject}"]
        for method, path, operation in operations:
            parts += _operation(method, path, operation, schemas, links)
            rows.append(f"| `{method} {path}` | [{subject}]({page}) | {cell(_first(operation))} |")
        parts += _schemas({each: it for each, it in schemas.items() if places.get(each) == page}, links)
        yield f"http/{name}/{page}", "\n\n".join(parts) + "\n"
    table = "\n".join(["| operation | page | what it does |", "|---|---|---|", *rows])
    introduction = paragraph(document["info"].get("description"))
    yield f"http/{name}/index.md", f"# {name.capitalize()}\n\n{introduction}\n\n{table}\n"


def _subjects(document: Mapping[str, Any]) -> dict[str, list[tuple[str, str, Mapping[str, Any]]]]:
    """The operations of each page, with method and path: those of a tag; but what an administrator does has a
    page for each thing that is administered."""
    subjects: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for path, item in document["paths"].items():
        for method in (each for each in METHODS if each in item):
            operation = dict(item[method])
            operation["parameters"] = [*item.get("parameters", []), *operation.get("parameters", [])]
            [tag] = operation["tags"]
            subject = path.split("/")[2] if tag == "admin" else tag
            subjects.setdefault(subject, []).append((method.upper(), path, operation))
    return subjects


def _file(subject: str) -> str:
    return subject.lower().replace(" ", "-") + ".md"


def _first(operation: Mapping[str, Any]) -> str:
    """What it does in a sentence. A summary that nobody wrote is the name of a function."""
    text = paragraph(operation.get("description") or operation.get("summary"))
    return text.partition(". ")[0].removesuffix(".")


def _reached(part: Any, schemas: Mapping[str, Any]) -> set[str]:
    """The names of all schemas that a part of a document refers to, also by way of others."""
    names: set[str] = set()
    waiting = [part]
    while waiting:
        match waiting.pop():
            case {"$ref": str(reference)}:
                name = reference.rpartition("/")[2]
                if name not in names:
                    names.add(name)
                    waiting.append(schemas[name])
            case Mapping() as inner:
                waiting += inner.values()
            case list() as inner:
                waiting += inner
    return names


def _operation(
    method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Any], links: Mapping[str, str]
) -> Iterator[str]:
    yield f"## {method} {path}"
    yield paragraph(operation.get("description") or operation.get("summary"))
    # The header of whoever asks, and the problems that are answered, are the same everywhere.
    lines = [_parameter(each, links) for each in operation["parameters"] if each["name"] != "authorization"]
    content = operation.get("requestBody", {}).get("content", {})
    lines += [f"- Takes {_bodies(content, links)}"] if content else []
    for status, answer in operation["responses"].items():
        if status != "4XX":
            lines.append(f"- Answers {status}: {_bodies(answer.get('content', {}), links) or 'nothing'}")
    yield "\n".join(lines)
    schema = content.get("application/json", {}).get("schema", {})
    schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    for example in schema.get("examples", ()):
        yield f"```json\n{_laid_out(example)}\n```"


def _parameter(parameter: Mapping[str, Any], links: Mapping[str, str]) -> str:
    schema = parameter.get("schema", {})
    place = "" if parameter["in"] == "path" else f" ({parameter['in']})"
    meaning = f". {paragraph(parameter['description'])}" if parameter.get("description") else ""
    return f"- `{parameter['name']}`{place}: {described(schema, links)}{meaning}"


def _bodies(content: Mapping[str, Any], links: Mapping[str, str]) -> str:
    """The media types that have the same schema stand together."""
    kinds: dict[str, list[str]] = {}
    for media, body in content.items():
        kinds.setdefault(described(body.get("schema", {}), links), []).append(f"`{media}`")
    return "; ".join(f"{', '.join(media)}: {kind}" for kind, media in kinds.items())


def _laid_out(example: Any) -> str:
    """On one line where it fits."""
    line = json.dumps(example, ensure_ascii=False)
    return line if len(line) < 90 else json.dumps(example, indent=1, ensure_ascii=False)


def _schemas(schemas: Mapping[str, Any], links: Mapping[str, str]) -> Iterator[str]:
    """Folded, so that a page shows its operations first. A link to one unfolds them."""
    if not schemas:
        return
    parts = []
    for title, schema in schemas.items():
        parts += [f"### {title} {{#{title.lower()}}}"]
        parts += [paragraph(schema["description"])] if schema.get("description") else []
        parts += ["\n".join(fields(schema, links)) or described(schema, links)]
    yield "## Schemas"
    yield '??? note "What bodies and answers hold"\n\n' + indent("\n\n".join(parts), "    ")
