"""The names that a field of a scenario can hold and the schema does not list: attributes of its data, its own
parties and labels, nets; and what registered names stand for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from leakrange.data import datasets
from leakrange.defences.chain import STAGES
from leakrange.scenario import registered
from leakrange.scenario.choices import Place
from leakrange.scenario.document import NAME
from leakrange.scenario.unfinished import CURSOR, entries

__all__ = ["ATTRIBUTES", "Kind", "Names", "note_of"]

Kind = Literal[
    "key", "value", "data set", "attribute", "behaviour", "attack", "defence", "net", "party", "anchor"
]
"""What a proposal is."""

ATTRIBUTES = frozenset({"target", "sensitive", "private", "useful", "general"})
"""Fields of providers, attacks and defences that name attributes of the data."""
MOST_CLASSES = 6


def note_of(place: Place, value: str) -> tuple[Kind, str]:
    """Return the kind of proposal that a value of the schema at that place is, and its meaning."""
    section, field = place[0], place[-1]
    if section == "data" and value in datasets:
        return "data set", _first(datasets[value].description)
    if section == "providers" and field in ("behaviour", "method"):
        return "behaviour", _behaviour(value, field == "method")
    if section == "attacks" and field == "kind" and value in registered.attacks():
        return "attack", _first(registered.attacks()[value].summary)
    stages = [stage for stage, registry in STAGES.items() if value in registry]
    if stages and _links(place):
        return "defence", f"{_first(STAGES[stages[0]][value].summary)} ({stages[0]} stage)"
    return "value", ""


def _links(place: Place) -> bool:
    """Return whether the place is that of a link of a chain."""
    return (place[0] == "defences" and len(place) == 3) or (place[0] == "clients" and len(place) == 4)


def _behaviour(value: str, method: bool) -> str:
    known = registered.behaviours()
    if value in known:
        return _first(known[value].summary)
    matching = [key for key in known if value == key.partition("/")[2 if method else 0]]
    if method:
        return _first(known[matching[0]].summary) if matching else ""
    return f"with a method: {', '.join(key.partition('/')[2] for key in matching)}" if matching else ""


def _first(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split())


class Names:
    """Names in one document of plain values."""

    def __init__(self, document: Any) -> None:
        self.sections = entries(document)

    def at(self, place: Place) -> tuple[Kind, Mapping[str, str]] | None:
        """Return the names for a place with the meaning of each, and their kind of proposal; None if the
        schema alone tells what can stand there."""
        section = place[0]
        field = next((step for step in reversed(place) if isinstance(step, str)), "")
        inside = len(place) > 2
        if section == "providers" and place[2:] == ("data",):
            return "data set", {label: name for label, name in self.labels().items() if label != name}
        if section == "attacks" and place[2:3] == ("providers",):
            return "party", {
                name: self.text(spec, "behaviour") or "honest" for name, spec in self.of("providers")
            }
        if place[-2:] == ("net", "name") or (inside and field == "net"):
            return "net", {name: _first(net.summary) for name, net in registered.nets().items()}
        if inside and section in ("providers", "attacks", "defences", "clients") and field in ATTRIBUTES:
            return "attribute", self.attributes(place, field)
        return None

    def of(self, section: str) -> list[tuple[str, Any]]:
        """Return the entries of a section that have a valid name."""
        named = entries(self.sections.get(section))
        return [(name, spec) for name, spec in named.items() if re.fullmatch(NAME, name)]

    def text(self, spec: Any, key: str) -> str | None:
        """The text that a mapping holds under a key."""
        value = entries(spec).get(key)
        return value if isinstance(value, str) and value != CURSOR else None

    def labels(self) -> dict[str, str]:
        """Return the data sets by label; a single one by its own name."""
        data = self.sections.get("data")
        if isinstance(data, str):
            return {data: data}
        if name := self.text(data, "name"):
            return {name: name}
        return {
            label: spec if isinstance(spec, str) else self.text(spec, "name") or ""
            for label, spec in self.of("data")
        }

    def attributes(self, place: Place, field: str) -> dict[str, str]:
        """The attributes that are meant at a place of a provider, an attack or a defence."""
        around = entries(self.sections.get(str(place[0]))).get(str(place[1]))
        notes: dict[str, str] = {}
        for name in self._data_of(place[0], around):
            entry = datasets.get(name)
            for key, attribute in entry.attributes.items() if entry is not None else ():
                notes.setdefault(key, attribute.description or _classes(attribute.classes))
        asked = self.text(around, "target") if field == "sensitive" else None
        return {name: note for name, note in notes.items() if name != asked}

    def _data_of(self, section: Any, around: Any) -> Iterable[str]:
        labels = self.labels()
        if section == "providers":
            label = self.text(around, "data")
            return [labels[label]] if label in labels else labels.values()
        if section == "attacks":
            named = entries(around).get("providers")
            tried = named if isinstance(named, list) else [named]
            used = [self.text(spec, "data") for name, spec in self.of("providers") if name in tried]
            return [labels[label] for label in used if label in labels] or labels.values()
        return labels.values()


def _classes(classes: tuple[str, ...]) -> str:
    shown = ", ".join(classes[:MOST_CLASSES])
    return f"{len(classes)} classes: {shown}, …" if len(classes) > MOST_CLASSES else shown
