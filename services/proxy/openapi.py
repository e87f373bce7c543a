"""The data path in the OpenAPI document: raw ASGI does not describe itself."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from leakrange.wire.endpoints import ARTIFACT, GALLERY, RELEASES, UPLOADED, UPLOADS
from leakrange.wire.names import NAME
from leakrange.wire.openapi import BINARY, sample_body
from leakrange.wire.problems import PROBLEM
from leakrange.wire.schemas import Decisions, Gallery, GalleryEntry, ModelCard, Releases, Scores, Upload
from leakrange.wire.tensors import JSON, NPY

__all__ = ["describe_data_path"]

PROBLEM_ANSWER = {
    "description": "Problem details (RFC 9457)",
    "content": {PROBLEM: {"schema": {"type": "object"}}},
}
MODEL = {
    "name": "model",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": f"^{NAME}$"},
}
PERSON = MODEL | {"name": "person"}
AGAINST = PERSON | {
    "in": "query",
    "required": False,
    "description": "Compare with this enrolled person; then the body holds samples, not pairs",
}
IDEMPOTENCY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "A repeat of the same request under the same key gets the first answer and costs nothing",
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[!-~]+$"},
}
KIND = {
    "name": "X-Release",
    "in": "header",
    "description": "The release kind of an npy body",
    "schema": {"enum": list(UPLOADED)},
}


def describe_data_path(app: FastAPI) -> None:
    """Add the native API to what the application says of itself."""
    original = app.openapi

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            document = original()
            document.setdefault("components", {}).setdefault("securitySchemes", {})["key"] = {
                "type": "http",
                "scheme": "bearer",
            }
            schemas = document["components"].setdefault("schemas", {})
            for body in (ModelCard, Releases, Scores, Gallery, GalleryEntry, Upload, Decisions):
                schemas[body.__name__] = body.model_json_schema(ref_template="#/components/schemas/{model}")
            document["paths"] |= _paths()
            for path in document["paths"]:
                if path.startswith("/admin"):
                    for operation in document["paths"][path].values():
                        operation["security"] = [{"key": []}]
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _paths() -> dict[str, Any]:
    cards = {"type": "object", "properties": {"models": {"type": "array", "items": _ref("ModelCard")}}}
    paths: dict[str, Any] = {
        "/v1/models": {"get": _operation("The models that this key may use", _json(cards))},
        "/v1/models/{model}": {
            "get": _operation("One model", _json(_ref("ModelCard")), parameters=[MODEL]),
        },
        f"/v1/models/{{model}}/{ARTIFACT}": {
            "get": _operation(
                "The model's safetensors file",
                {"application/octet-stream": BINARY},
                parameters=[MODEL],
            ),
        },
        f"/v1/models/{{model}}/{UPLOADS}": {
            "post": _operation(
                "Upload releases; the reply is the decision",
                _json(_ref("Decisions")),
                parameters=[MODEL, IDEMPOTENCY, KIND],
                body={"required": True, "content": {JSON: {"schema": _ref("Upload")}, NPY: BINARY}},
            ),
        },
    }
    for endpoint, kind in RELEASES.items():
        scored = kind == "score"
        told = _ref("Scores" if scored else "Releases")
        paths[f"/v1/models/{{model}}/{endpoint}"] = {
            "post": _operation(
                f"The model's {endpoint} of a batch of {'pairs' if scored else 'samples'}, "
                "as the policy releases them",
                _json(told) | {NPY: BINARY},
                parameters=[MODEL, IDEMPOTENCY, *([AGAINST] if scored else [])],
                body=sample_body(pairs=scored),
            )
        }
    return paths | _gallery_paths()


def _gallery_paths() -> dict[str, Any]:
    removed = _operation("Forget an enrolled person", {}, parameters=[MODEL, PERSON])
    removed["responses"] = {"204": {"description": "Forgotten"}, "4XX": PROBLEM_ANSWER}
    return {
        f"/v1/models/{{model}}/{GALLERY}": {
            "get": _operation("Who is enrolled", _json(_ref("Gallery")), parameters=[MODEL]),
        },
        f"/v1/models/{{model}}/{GALLERY}/{{person}}": {
            "put": _operation(
                "Enrol a person, or replace one, by samples of theirs",
                _json(_ref("GalleryEntry")),
                parameters=[MODEL, PERSON, IDEMPOTENCY],
                body=sample_body(),
            ),
            "delete": removed,
        },
    }


def _operation(
    summary: str, content: dict[str, Any], *, parameters: list[Any] | None = None, body: Any = None
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": summary,
        "tags": ["native API"],
        "security": [{"key": []}],
        "parameters": parameters or [],
        "responses": {"200": {"description": "Answered", "content": content}, "4XX": PROBLEM_ANSWER},
    }
    if body is not None:
        operation["requestBody"] = body
    return operation


def _json(schema: Any) -> dict[str, Any]:
    return {JSON: {"schema": schema}}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
