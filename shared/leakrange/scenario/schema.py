"""The JSON schema of scenarios, for editors: ``python -m leakrange.scenario.schema`` prints it.

It knows every registered behaviour, attack and defence with its parameters. It is looser than
`leakrange.scenario.language.parse`, which alone checks what depends on other parts of the file (which
attributes the data has, which release an attack reads).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import models_json_schema

from leakrange.data import Names, datasets
from leakrange.defences.chain import STAGES
from leakrange.jobs.recipe import DataSpec
from leakrange.scenario import registered
from leakrange.scenario.descriptions import described, told_in
from leakrange.scenario.document import NAME, AttackSpec, ClientSpec, Head, ProviderSpec
from leakrange.scenario.draft import EXTENSION, NEEDED
from leakrange.scenario.load import LoadSpec

__all__ = ["scenario_schema"]

Schema = dict[str, Any]

SECTIONS = {
    "name": "what runs of the scenario are listed as",
    "description": "what it asks, for the report",
    "seeds": "everything is trained and tried once under each",
    "data": "a data set, or several by labels of your own",
    "providers": "who serves models, by names of your own",
    "clients": "the users and their devices, under a name of your own",
    "defences": "chains of transforms to compare, by names of your own; none: [] is the undefended case",
    "attacks": "who tries to learn what is hidden, by names of your own",
    "load": "who asks in a run under load",
}


def scenario_schema() -> Schema:
    """The schema (draft 2020-12), with the data sets that there are now. It is shared: do not change it."""
    return _schema_of(tuple(datasets))


@lru_cache(maxsize=1)
def _schema_of(sets: tuple[str, ...]) -> Schema:
    behaviours, attacks = registered.behaviours(), registered.attacks()
    defences: dict[str, Any] = {name: one for stage in STAGES.values() for name, one in stage.items()}
    every = (*behaviours.values(), *attacks.values(), *defences.values())
    parts = (Head, DataSpec, ProviderSpec, ClientSpec, AttackSpec)
    models = dict.fromkeys([*parts, LoadSpec, *(entry.Parameters for entry in every)])
    of, definitions = _defined(list(models))

    data = {**of(DataSpec), "properties": {**of(DataSpec)["properties"], "name": _one_of(sets)}}
    chain = {"type": "array", "maxItems": 16, "items": {"$ref": "#/$defs/defence"}}
    client = {**of(ClientSpec), "properties": {**of(ClientSpec)["properties"], "defence": chain}}
    either = {"anyOf": [_one_of(sets), {"$ref": "#/$defs/data"}]}
    providers = [
        _variant(of(ProviderSpec), of(entry.Parameters), named, entry.summary)
        for key, entry in behaviours.items()
        for named in _spellings(key)
    ]
    kinds = [
        _variant(of(AttackSpec), of(entry.Parameters), {"kind": key}, entry.summary)
        for key, entry in attacks.items()
    ]
    links = [_link(name, entry, of(entry.Parameters)) for name, entry in defences.items()]
    names = {model.__name__ for model in parts}
    others = {key: value for key, value in definitions.items() if key not in names}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Leakrange scenario",
        "type": "object",
        "required": list(NEEDED),
        "additionalProperties": False,
        "patternProperties": {f"^{EXTENSION}": {}},
        "properties": _described(
            {
                **of(Head)["properties"],
                "data": {"anyOf": [*either["anyOf"], _named(either)]},
                "providers": _named({"$ref": "#/$defs/provider"}),
                "clients": {**_named(client), "maxProperties": 1},
                "defences": _named(chain),
                "attacks": _named({"$ref": "#/$defs/attack"}),
                "load": {"anyOf": [{"$ref": "#/$defs/LoadSpec"}, {"type": "null"}]},
            }
        ),
        "$defs": {
            **others,
            "data": data,
            "provider": {"anyOf": providers},
            "attack": {"anyOf": kinds},
            "defence": {"anyOf": [_one_of(defences), *links]},
        },
    }


def _defined(
    models: list[type[BaseModel]],
) -> tuple[Callable[[type[BaseModel]], Schema], dict[str, Schema]]:
    """The schema of each of the models, and of all models that they contain, by name."""
    references, definitions = models_json_schema([(model, "validation") for model in models])
    defined: dict[str, Schema] = {
        name: told_in(each, each.get("description", "")) for name, each in definitions["$defs"].items()
    }
    names = {model: references[model, "validation"]["$ref"].rpartition("/")[2] for model in models}
    for model, name in names.items():
        defined[name] = described(defined[name], model)
    return lambda model: defined[names[model]], defined


def _described(properties: dict[str, Schema]) -> dict[str, Schema]:
    """The fields of a scenario, each with a description."""
    return {
        name: {"description": SECTIONS[name], **each} if name in SECTIONS else each
        for name, each in properties.items()
    }


def _one_of(names: Iterable[str]) -> Schema:
    return {"type": "string", "enum": list(names)}


def _named(each: Schema) -> Schema:
    return {
        "type": "object",
        "minProperties": 1,
        "propertyNames": {"pattern": f"^{NAME}$"},
        "additionalProperties": each,
    }


def _spellings(key: str) -> list[dict[str, str]]:
    """``curious/regularized`` may be written in one field or in two."""
    family, _, method = key.partition("/")
    whole = {"behaviour": key}
    return [{"behaviour": family, "method": method}, whole] if method else [whole]


def _variant(base: Schema, parameters: Schema, named: dict[str, str], summary: str) -> Schema:
    """The fields of ``base`` and those of ``parameters``, for the entry that ``named`` names."""
    fields = dict(parameters.get("properties", {}))
    for key, value in base["properties"].items():
        # The entry's own word on a field that both have (e.g. which releases it has) is the narrower one.
        fields.setdefault(key, value)
    required = list(dict.fromkeys([*base.get("required", ()), *parameters.get("required", ())]))
    if "kind" in named and "sensitive" in required:
        required.remove("sensitive")  # by default what the provider names
        fields["sensitive"] = TypeAdapter(Names).json_schema()
    if "kind" in named and (number := fields.get("queries")) is not None:
        bare = {key: value for key, value in number.items() if key not in ("default", "description", "title")}
        several = {"type": "array", "minItems": 1, "uniqueItems": True, "items": bare}
        about = {key: value for key, value in number.items() if key not in bare}
        fields["queries"] = {**about, "anyOf": [bare, several]}
    if "behaviour" in named and "method" not in named:
        fields["method"] = {"type": "null"}
    for key, value in named.items():
        description = base["properties"].get(key, {}).get("description")
        fields[key] = {"const": value} | ({"description": description} if description else {})
    if named != {"behaviour": ProviderSpec.model_fields["behaviour"].default}:
        required += [key for key in named if key not in required]
    return {
        "type": "object",
        "description": summary,
        "properties": fields,
        "required": required,
        "additionalProperties": False,
    }


def _link(name: str, entry: Any, parameters: Schema) -> Schema:
    """A defence with its parameters, or with the one value that it may be given bare."""
    given: list[Schema] = [parameters, {"type": "null"}]
    if entry.shorthand is not None:
        given.append(parameters["properties"][entry.shorthand])
    return {
        "type": "object",
        "description": entry.summary,
        "properties": {name: {"anyOf": given}},
        "required": [name],
        "additionalProperties": False,
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(scenario_schema(), indent=2) + "\n")
