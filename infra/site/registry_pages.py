"""The pages of all that is registered: attacks, behaviours, defences, data sets, nets, limits, metrics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from textwrap import indent
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

__all__ = ["pages"]

INTRODUCTION = """# What there is

Made from the registries. A scenario names each entry as it is written here; entries of plugins join them
where a plugin is installed. `leakrange scenario schema` has the same for editors."""
FEWEST = 2
"""A kind of attack has a page of its own from so many attacks on."""


def pages() -> Iterator[tuple[str, str]]:
    """A page for each registry, with the parameters of each entry, and one that lists these pages."""
    sections: dict[str, list[str]] = {}
    by_kind: dict[str, dict[str, Any]] = {}
    for name, entry in attacks.items():
        by_kind.setdefault(entry.kind, {})[name] = entry
    few = {name: it for each in by_kind.values() if len(each) < FEWEST for name, it in each.items()}
    for kind, entries in sorted(by_kind.items()):
        if len(entries) >= FEWEST:
            sections[f"Attacks: {kind}"] = [*_entries(entries, _attack)]
    sections["Attacks of other kinds"] = [*_entries(few, _attack)]
    sections["Kinds of attack"] = [_table(("kind", "what it is"), _kinds())]
    sections["Behaviours of providers"] = [*_entries(behaviours)]
    for stage, registry in STAGES.items():
        sections[f"Defences of the {stage}"] = [*_entries(registry)]
    sections["Limits of API keys"] = [*_entries(limit_kinds)]
    columns = ("data set", "what it is", "attributes (classes)", "source")
    sections["Data sets"] = [_table(columns, _datasets())]
    sections["Nets"] = [_table(("net", "what it is", "takes", "paper"), _nets())]
    columns = ("metric", "meaning", "unit", "better", "equation")
    for role in dict.fromkeys(each.role for each in metrics.values()):
        sections[f"Metrics: {role}"] = [_table(columns, _metrics(role))]
    links = []
    for title, parts in sections.items():
        page = title.lower().replace(" ", "-").replace(":", "")
        yield f"registries/{page}.md", "\n\n".join([f"# {title}", *parts]) + "\n"
        links.append(f"- [{title}]({page}.md)")
    yield "registries/index.md", "\n\n".join([INTRODUCTION, "\n".join(links)]) + "\n"


def _table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _entries(registry: Mapping[str, Any], more: Any = None) -> Iterator[str]:
    """One section for each entry."""
    for name in sorted(registry):
        entry = registry[name]
        yield f"## {name}"
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
        yield '??? note "Parameters"\n\n' + indent("\n".join(fields(schema)), "    ")


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


def _metrics(role: str) -> Iterator[tuple[str, ...]]:
    for entry in (metrics[name] for name in in_order(metrics) if metrics[name].role == role):
        better = "higher" if entry.higher else "lower"
        yield f"`{entry.name}`", cell(entry.title), entry.unit, better, cell(entry.equation)
