"""The page of all that is registered: attacks, behaviours, defences, data sets, nets, limits, metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel
from schemas import fields
from words import cell, paragraph

from leakrange.attacks import attacks
from leakrange.attacks.kinds import kinds
from leakrange.data import datasets
from leakrange.defences.chain import STAGES
from leakrange.metrics.registry import in_order, metrics
from leakrange.nets import nets
from leakrange.providers.behaviours import behaviours
from leakrange.services.proxy.limits.base import limit_kinds

__all__ = ["page"]

INTRODUCTION = """# What there is

Made from the registries. A scenario names each entry as it is written here; entries of plugins join them
where a plugin is installed. `leakrange scenario schema` has the same for editors."""


def page() -> str:
    """A section for each registry, with the parameters of each entry."""
    parts = [INTRODUCTION, "## Attacks", *_entries(attacks, _attack)]
    parts += ["## Kinds of attack", _table(("kind", "what it is"), _kinds())]
    parts += ["## Behaviours of providers", *_entries(behaviours)]
    for stage, registry in STAGES.items():
        parts += [f"## Defences of the {stage}", *_entries(registry)]
    parts += ["## Limits of API keys", *_entries(limit_kinds)]
    parts += [
        "## Data sets",
        _table(("data set", "what it is", "attributes (classes)", "source"), _datasets()),
    ]
    parts += ["## Nets", _table(("net", "what it is", "takes", "paper"), _nets())]
    parts += ["## Metrics", _table(("metric", "meaning", "unit", "about", "better", "equation"), _metrics())]
    return "\n\n".join(parts) + "\n"


def _table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _entries(registry: Mapping[str, Any], more: Any = None) -> Iterator[str]:
    """One section for each entry."""
    for name in sorted(registry):
        entry = registry[name]
        yield f"### {name}"
        yield (
            paragraph(getattr(entry, "summary", "") or _first(entry.__doc__)).removesuffix(".").capitalize()
            + "."
        )
        told = [("Paper", getattr(entry, "paper", "")), ("Equation", getattr(entry, "equation", ""))]
        told += more(entry) if more else []
        if any(value for _, value in told):
            yield "\n".join(f"- {label}: {cell(value)}" for label, value in told if value)
        parameters = getattr(entry, "Parameters", entry if issubclass(entry, BaseModel) else None)
        if parameters is not None:
            yield from _parameters(parameters)


def _attack(entry: Any) -> list[tuple[str, str]]:
    return [
        ("Kind", entry.kind),
        ("Reads", ", ".join(entry.consumes)),
        ("Is granted", "; ".join(entry.grants)),
        ("Knowledge", ", ".join(entry.knowledge)),
    ]


def _parameters(model: type[BaseModel]) -> Iterator[str]:
    schema = model.model_json_schema()
    if schema.get("properties"):
        if told := model.__doc__:
            yield paragraph(told)
        yield "\n".join(fields(schema))


def _first(text: str | None) -> str:
    """A docstring's first sentence."""
    return " ".join((text or "").split("\n\n")[0].split()).partition(". ")[0]


def _kinds() -> Iterator[tuple[str, ...]]:
    for name in sorted(kinds):
        yield f"`{name}`", cell(paragraph(_first(kinds[name].__doc__)))


def _datasets() -> Iterator[tuple[str, ...]]:
    for name in sorted(datasets):
        entry = datasets[name]
        listed = ", ".join(f"{each.name} ({len(each.classes)})" for each in entry.attributes.values())
        yield f"`{name}`", cell(entry.description), cell(listed), cell(entry.source)


def _nets() -> Iterator[tuple[str, ...]]:
    for name in sorted(nets):
        entry = nets[name]
        yield f"`{name}`", cell(entry.summary), ", ".join(entry.encodings or ("all",)), cell(entry.paper)


def _metrics() -> Iterator[tuple[str, ...]]:
    for entry in in_order(metrics):
        found = metrics[entry]
        better = "higher" if found.higher else "lower"
        yield f"`{found.name}`", cell(found.title), found.unit, found.role, better, cell(found.equation)
