"""The pages of the variables that each party reads, from the classes of their settings."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from pydantic_core import PydanticUndefined
from schemas import described
from words import cell, code

__all__ = ["pages"]

PARTIES = {
    "Controller": ("leakrange.services.controller.settings", "ControllerSettings"),
    "Proxy": ("leakrange.services.proxy.settings", "ProxySettings"),
    "Providers": ("leakrange.services.provider.settings", "ProviderSettings"),
    "Edge clients": ("leakrange.clients.edge.settings", "EdgeSettings"),
    "The fleet": ("leakrange.services.attacker.settings", "FleetSettings"),
}
PREFIX = "LEAKRANGE_"
INTRODUCTION = """# Variables

Every variable of every party, from the code that reads it. [Settings](../../configuration.md) says more about
those that an operator is most likely to change."""


def pages() -> Iterator[tuple[str, str]]:
    """A page for each party, with a table of its variables, and one that lists these pages."""
    links = []
    for title, (module, name) in PARTIES.items():
        settings = getattr(importlib.import_module(module), name)
        head = ["| variable | type | default | meaning |", "|---|---|---|---|"]
        page = title.lower().replace(" ", "-")
        yield f"variables/{page}.md", "\n".join([f"# {title}", "", *head, *_rows(settings)]) + "\n"
        links.append(f"- [{title}]({page}.md)")
    yield "variables/index.md", "\n\n".join([INTRODUCTION, "\n".join(links)]) + "\n"


def _rows(settings: Any) -> Iterator[str]:
    told = _docstrings(settings)
    properties = settings.model_json_schema(by_alias=False)["properties"]
    for name, field in settings.model_fields.items():
        missing = field.default is PydanticUndefined and field.default_factory is None
        default = (
            "required"
            if missing
            else code(json.dumps(field.get_default(call_default_factory=True), default=str))
        )
        kind = described(properties[name]).replace("|", "\\|")
        yield f"| `{PREFIX}{name.upper()}` | {kind} | {default} | {cell(told.get(name, ''))} |"


def _docstrings(settings: Any) -> dict[str, str]:
    """What stands below each field, in the class or one that it inherits from."""
    found: dict[str, str] = {}
    for each in reversed(settings.__mro__):
        if not hasattr(each, "model_fields") or not each.__module__.startswith("leakrange"):
            continue
        [body] = [
            node.body for node in ast.parse(inspect.getsource(each)).body if isinstance(node, ast.ClassDef)
        ]
        for field, below in pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(below, ast.Expr):
                found[ast.unparse(field.target)] = ast.literal_eval(below.value).replace("``", "`")
    return found
