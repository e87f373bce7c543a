"""Every JSON body that a server takes is shown by an example, and the server would take it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel

from leakrange.scenario.language import parse
from leakrange.services.controller.requests import SCENARIO_BODY
from tests.docs.blocks import ROOT

sys.path.append(str(ROOT / "infra" / "site"))
from endpoint_pages import applications


def _bodies() -> Iterator[Any]:
    """Each operation that takes JSON: the schema of its body, and the document that it stands in."""
    with applications() as servers:
        for server, app in servers.items():
            document = app.openapi()
            for path, item in document["paths"].items():
                for method, operation in item.items():
                    content = operation.get("requestBody", {}).get("content", {})
                    if "application/json" in content:
                        schema = content["application/json"]["schema"]
                        yield pytest.param(schema, document, id=f"{server}: {method.upper()} {path}")


BODIES = list(_bodies())


def _models(base: type[BaseModel] = BaseModel) -> Iterator[tuple[str, type[BaseModel]]]:
    for model in base.__subclasses__():
        yield model.__name__, model
        yield from _models(model)


def test_there_are_bodies_of_every_server() -> None:
    assert {each.id.partition(":")[0] for each in BODIES} == {"controller", "proxy", "provider", "edge"}


@pytest.mark.parametrize(("schema", "document"), BODIES)
def test_a_body_has_an_example_that_is_taken(schema: Any, document: dict[str, Any]) -> None:
    name = schema.get("$ref", "").rpartition("/")[2]
    examples = (document["components"]["schemas"][name] if name else schema).get("examples", ())
    assert examples, "say by `example` of leakrange.strict what a client sends"
    for each in examples:
        Draft202012Validator({**schema, "components": document["components"]}).validate(each)
        if name:
            dict(_models())[name].model_validate(each)


def test_the_scenario_that_is_shown_has_no_mistakes() -> None:
    [shown] = SCENARIO_BODY["content"]["application/json"]["schema"]["examples"]
    assert parse(shown).name == "what-a-curious-provider-learns"
