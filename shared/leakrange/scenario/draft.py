"""Reads a scenario section by section: keeps the well-formed parts, and collects the mistakes of the
others.

So one mistake hides no other: well-formed parts are checked further, and a reference to a broken part is
not reported as a second mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from leakrange.jobs.recipe import DataSpec
from leakrange.scenario.document import NAME, AttackSpec, ClientSpec, Head, ProviderSpec, Scenario
from leakrange.scenario.load import LoadSpec
from leakrange.scenario.mistakes import Mistakes, Path

__all__ = ["Draft", "read_draft"]

M = TypeVar("M", bound=BaseModel)
NEEDED = ("name", "data", "providers", "attacks")
EXTENSION = "x-"
"""Top-level fields with this prefix are ignored: a place for YAML anchors."""


@dataclass
class Draft:
    """The sections; None stands for a part that is there and broken."""

    head: Head | None = None
    data: dict[str, DataSpec | None] = field(default_factory=dict)
    single: bool = False
    """Whether ``data`` is one data set without a label."""
    providers: dict[str, ProviderSpec | None] = field(default_factory=dict)
    clients: dict[str, ClientSpec | None] = field(default_factory=dict)
    defences: dict[str, Any] = field(default_factory=dict)
    attacks: dict[str, AttackSpec | None] = field(default_factory=dict)
    load: LoadSpec | None = None

    def data_path(self, label: str) -> Path:
        """Return the path of the data set of that label."""
        return ("data",) if self.single else ("data", label)


def read_draft(raw: Any, mistakes: Mistakes) -> Draft:
    """Check form: fields, types, bounds, names."""
    draft = Draft()
    if not isinstance(raw, dict):
        mistakes.add((), "a scenario is a mapping with the fields " + ", ".join(Scenario.model_fields))
        return draft
    for name in NEEDED:
        if name not in raw:
            mistakes.add((name,), f"{name!r} is missing", at=())
    for key in raw:
        if key not in Scenario.model_fields and not str(key).startswith(EXTENSION):
            mistakes.add(
                (key,), f"unknown field {key!r}", allowed=list(Scenario.model_fields), given=key, key=True
            )
    head = {key: value for key, value in raw.items() if key in Head.model_fields}
    if "name" not in head:
        head["name"] = "unnamed"
    draft.head = _model(Head, head, (), mistakes)
    if "data" in raw:
        _read_data(draft, raw["data"], mistakes)
    draft.providers = _section(raw, "providers", ProviderSpec, mistakes, most=64)
    draft.attacks = _section(raw, "attacks", AttackSpec, mistakes, most=64)
    draft.clients = (
        _section(raw, "clients", ClientSpec, mistakes, most=1)
        if raw.get("clients") is not None
        else {"users": ClientSpec()}
    )
    draft.defences = (
        _named(raw["defences"], "defences", mistakes, most=64)
        if raw.get("defences") is not None
        else {"none": []}
    )
    if raw.get("load") is not None:
        draft.load = _model(LoadSpec, raw["load"], ("load",), mistakes)
    return draft


def _read_data(draft: Draft, raw: Any, mistakes: Mistakes) -> None:
    if isinstance(raw, str):
        raw = {"name": raw}
    if isinstance(raw, dict) and isinstance(raw.get("name"), str):
        draft.single = True
        draft.data = {raw["name"]: _model(DataSpec, raw, ("data",), mistakes)}
        return
    for label, spec in _named(raw, "data", mistakes, most=16).items():
        short = {"name": spec} if isinstance(spec, str) else spec
        draft.data[label] = _model(DataSpec, short, ("data", label), mistakes)


def _section(
    raw: Mapping[str, Any], section: str, model: type[M], mistakes: Mistakes, *, most: int
) -> dict[str, M | None]:
    if section not in raw:
        return {}
    named = _named(raw[section], section, mistakes, most=most)
    return {name: _model(model, spec, (section, name), mistakes) for name, spec in named.items()}


def _named(raw: Any, section: str, mistakes: Mistakes, *, most: int) -> dict[str, Any]:
    """A section that maps names to something."""
    if not isinstance(raw, dict) or not raw:
        mistakes.add((section,), f"{section!r} maps names to what they stand for, at least one", key=True)
        return {}
    if len(raw) > most:
        message = f"{len(raw)} {section}, at most {most}" + (" group of users in a run" if most == 1 else "")
        mistakes.add((section,), message, key=True)
    good = {}
    for name, value in raw.items():
        if not isinstance(name, str) or re.fullmatch(NAME, name) is None:
            message = f"{str(name)[:60]!r} is no name: letters, digits, '-' and '_', at most 32"
            mistakes.add((section, name), message, key=True)
        else:
            good[name] = value
    return good


def _model(model: type[M], raw: Any, path: Path, mistakes: Mistakes) -> M | None:
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        mistakes.add_pydantic(path, error, model)
        return None
