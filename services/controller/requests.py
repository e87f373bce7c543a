"""Parameters that several endpoints have in common."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Depends, Header, Path, Query, Request

from leakrange.service.acts import admit_operator

__all__ = ["SCENARIO_BODY", "WITHOUT_NUL", "After", "Identity", "Limit", "Operator", "of_app"]

LONGEST, FORM = 64, r"^[A-Za-z0-9-]+$"
WITHOUT_NUL = r"^[^\x00]*$"
"""Of a text that the database looks for: PostgreSQL takes no NUL."""

Identity = Annotated[str, Path(max_length=LONGEST, pattern=FORM, examples=["20260101-120000-a1b2c3"])]
"""Of a run or an audit, in the path."""
Limit = Annotated[int, Query(ge=1, le=200)]
"""So many entries a page."""
After = Annotated[str | None, Query(max_length=LONGEST, pattern=FORM)]
"""The last entry of the page before."""


def of_app(name: str) -> Any:
    """Depends on what the application holds under that name: ``Annotated[RunService, of_app("runs")]``."""

    def held(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(held)


def _operator(request: Request, authorization: Annotated[str | None, Header()] = None) -> None:  # noqa: ARG001
    admit_operator(request)


Operator = Depends(_operator)
"""Refuses whoever lacks the operator key."""

_SCENARIO = {
    "name": "what-a-curious-provider-learns",
    "data": {"name": "digits"},
    "providers": {
        "curious": {
            "behaviour": "curious",
            "method": "parameterized",
            "target": "parity",
            "sensitive": "slant",
        }
    },
    "clients": {"phones": {"kind": "edge", "count": 20, "uploads": "logits"}},
    "defences": {"none": [], "label-only": ["argmax"]},
    "attacks": {"inside": {"kind": "curious-decoder"}},
}
SCENARIO_BODY: dict[str, Any] = {
    "required": True,
    "content": {
        "application/yaml": {"schema": {"type": "string", "description": "A scenario"}},
        "application/json": {"schema": {"type": "object", "examples": [_SCENARIO]}},
    },
}
"""The body of a request that brings a scenario, whose JSON schema is at ``GET /v1/scenario/schema``."""
