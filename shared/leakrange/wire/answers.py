"""An HTTP answer, and the error that it describes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from leakrange.wire.errors import LeakrangeError, UpstreamFailed
from leakrange.wire.tensors import media_type

__all__ = ["Answer", "raise_problem", "read"]

Schema = TypeVar("Schema", bound=BaseModel)


@dataclass(frozen=True)
class Answer:
    """A complete HTTP answer; header names are lower case."""

    status: int
    headers: dict[str, str]
    body: bytes


def _by_slug() -> dict[str, type[LeakrangeError]]:
    errors: dict[str, type[LeakrangeError]] = {}
    pending: list[type[LeakrangeError]] = [LeakrangeError]
    while pending:
        kind = pending.pop()
        errors[kind.slug] = kind
        pending += kind.__subclasses__()
    return errors


def read(schema: type[Schema], answer: Answer) -> Schema:
    """Read the body of an answer; raises `UpstreamFailed` if it is no ``schema``."""
    try:
        return schema.model_validate_json(answer.body)
    except ValidationError as error:
        raise UpstreamFailed(
            f"the answer is no {schema.__name__}", hint="is this a range of the same version?"
        ) from error


def raise_problem(answer: Answer) -> None:
    """Raise the error that a problem answer describes (or one of its status); return if the answer is a
    success.

    A redirect is not followed, since it could lead a key elsewhere: it is `UpstreamFailed`.
    """
    if 200 <= answer.status < 300:
        return
    if answer.status < 400:
        raise UpstreamFailed(
            f"HTTP {answer.status} instead of an answer",
            hint="give the server's own address, not one that redirects",
        )
    problem: dict[str, Any] = {}
    if "json" in media_type(answer.headers.get("content-type")):
        try:
            parsed = orjson.loads(answer.body)
            problem = parsed if isinstance(parsed, dict) else {}
        except orjson.JSONDecodeError:
            problem = {}
    detail = str(problem.get("detail") or problem.get("title") or answer.body[:200].decode(errors="replace"))
    slug = str(problem.get("type", "")).rpartition("/")[2]
    known = _by_slug()
    extra = {
        k: v for k, v in problem.items() if k not in ("type", "title", "status", "detail", "hint", "instance")
    }
    hint = str(problem["hint"]) if problem.get("hint") else None
    wait = answer.headers.get("retry-after", "")
    kind = known.get(slug)
    if kind is None:
        by_status = {kind.status: kind for kind in reversed(known.values()) if kind is not LeakrangeError}
        kind = by_status.get(answer.status, UpstreamFailed)
        detail = f"HTTP {answer.status}: {detail}"
    # Subclasses have constructors of their own; what came over the wire is complete without them.
    error = kind.__new__(kind, detail)
    LeakrangeError.__init__(error, detail, hint=hint, retry_after=float(wait) if wait.isdecimal() else None)
    error.extra = extra
    vars(error).update({name: extra[name] for name in ("mistakes",) if name in extra})
    raise error
