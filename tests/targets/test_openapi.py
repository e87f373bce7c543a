"""What an OpenAPI document gives for a request, and documents that are hostile or of another form."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakrange.targets.openapi_document import MOST_YAML, chosen_operation, read_openapi
from leakrange.targets.openapi_example import ExampleRequest, example_request
from leakrange.wire.errors import InvalidInput

NUMBER = {"type": "number"}


def document(schema: Any, **more: Any) -> bytes:
    body = {"content": {"application/json": {"schema": schema}}}
    about = {"requestBody": body, "responses": {"200": {"description": "well"}}}
    return orjson.dumps({"openapi": "3.1.0", "paths": {"/predict": {"post": about}}, **more})


def example(content: bytes, looks: dict[str, Any] | None = None) -> ExampleRequest:
    read = read_openapi(content, "http://127.0.0.1:9/openapi.json")
    return example_request(read, chosen_operation(read, None), variable="RISK_KEY", looks=looks)


def body(schema: Any, looks: dict[str, Any] | None = None, **more: Any) -> Any:
    return orjson.loads(example(document(schema, **more), looks).request.body or b"")


@pytest.mark.parametrize(
    ("schema", "looks", "sent"),
    [
        ({"type": "array", "items": NUMBER}, {"shape": [3]}, [1.0] * 3),
        ({"type": "array", "items": {"type": "array", "items": NUMBER}}, {"shape": [3]}, [[1.0] * 3]),
        (
            {"type": "array", "items": {"type": "array", "items": NUMBER, "minItems": 2, "maxItems": 2}},
            None,
            [[1.0] * 2],
        ),
        (
            {"type": "array", "items": {"type": "object", "additionalProperties": NUMBER}},
            {"columns": ["age", "hours"]},
            [{"age": 1.0, "hours": 1.0}],
        ),
        ({"type": "object", "properties": {"a": {"type": "integer", "minimum": 4}}}, None, {"a": 5}),
        ({"anyOf": [{"type": "null"}, {"type": ["null", "boolean"]}]}, None, True),
        (
            {"allOf": [{"properties": {"a": NUMBER}}, {"properties": {"b": {"const": 7}}}]},
            None,
            {"a": 1.0, "b": 7},
        ),
    ],
)
def test_a_sample_is_made_as_the_schema_and_the_user_say(schema: Any, looks: Any, sent: Any) -> None:
    assert body(schema, looks) == sent


def test_what_the_schema_leaves_open_is_asked_of_the_user() -> None:
    for schema in ({"type": "array", "items": NUMBER}, {"type": "object"}, {}):
        with pytest.raises(InvalidInput, match="what a sample looks like") as caught:
            body(schema)
        assert "--columns" in str(caught.value.hint)


def test_a_schema_that_holds_itself_has_no_end() -> None:
    tree = {
        "type": "object",
        "required": ["child"],
        "properties": {"child": {"$ref": "#/components/schemas/Tree"}},
    }
    wide = {
        "type": "object",
        "properties": {f"c{i}": {"$ref": "#/components/schemas/Wide"} for i in range(9)},
    }
    loop = {"$ref": "#/components/schemas/Loop"}
    for name, schema in (("Tree", tree), ("Wide", wide), ("Loop", loop)):
        with pytest.raises(InvalidInput):
            body({"$ref": f"#/components/schemas/{name}"}, components={"schemas": {name: schema}})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\x00\xff", "neither JSON nor YAML"),
        (b"openapi: 3.0.0", "no 'paths'"),
        (b'{"swagger": "2.0", "paths": {}}', "of version 2.0, and OpenAPI 3 is read"),
        (b"openapi: 3.0.0\npaths: {}", "no operation"),
        (b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\npaths: {}", "aliases are not followed"),
        (b"[" * 5000, "neither JSON nor YAML"),
        (b"openapi: 3.0.0\n" + b"# x\n" * MOST_YAML, "too many"),
        (document({"$ref": "http://elsewhere.example/schema.json"}), "which is not in it"),
        (document({"$ref": "#/components/nothing"}), "where nothing stands"),
        (
            document(
                {"type": "array", "minItems": 9, "maxItems": 9, "items": {"type": "array", "items": NUMBER}}
            ),
            "how many",
        ),
    ],
)
def test_hostile_documents_are_told(content: bytes, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        example(content)


def test_secrets_stay_in_the_environment() -> None:
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"}}
    given_example = example(
        document(
            {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}},
            components={"securitySchemes": schemes},
            security=[{"key": []}],
        )
    )
    assert given_example.request.headers["X-Api-Key"] == "${RISK_KEY}"


WORDS = ["object", "array", "number", "string", "binary", "#/paths", "#/components/schemas/A"]
KEYWORDS = [
    *("$ref", "type", "properties", "items", "anyOf", "allOf", "enum", "required", "default", "minItems"),
    *("maxItems", "format", "minimum", "maximum", "prefixItems", "additionalProperties", "example"),
    *("examples", "in", "name", "scheme", "url", "post", "requestBody", "content"),
]
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.sampled_from(WORDS)
ANYTHING = st.recursive(
    SCALARS | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
)


@given(ANYTHING, ANYTHING)
def test_any_schema_gives_a_request_or_a_sentence(schema: Any, other: Any) -> None:
    try:
        given_example = example(document(schema, components={"schemas": {"A": other}}))
    except InvalidInput:
        return
    assert given_example.request.url == "http://127.0.0.1:9/predict"


@given(ANYTHING, st.sampled_from(["paths", "servers", "components", "security"]))
def test_any_document_gives_a_request_or_a_sentence(part: Any, where: str) -> None:
    content = orjson.loads(document({"type": "object", "properties": {"a": NUMBER}}))
    try:
        given_example = example(orjson.dumps(content | {where: part}))
    except InvalidInput:
        return
    assert given_example.request.method == "POST"
